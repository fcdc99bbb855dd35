package runtime

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problemBase is where the problem types of RFC 9457 are described.
const problemBase = "https://github.com/idemgen/idemgen/blob/main/docs/problems.md#"

// statusOf is the status that err asks for with HTTPStatus, and whether it
// asks for one: an error without is unclassified.
func statusOf(err error) (status int, classified bool) {
	var with interface{ HTTPStatus() int }
	if !errors.As(err, &with) {
		return http.StatusInternalServerError, false
	}
	status = with.HTTPStatus()
	if status < 400 || status > 599 {
		return http.StatusInternalServerError, false
	}
	return status, true
}

// errorAnswer renders err. The text of an error without a status, or with one
// of 500 and more, is for the log and not for the client, unless the error
// is an [Error] with a message of its own.
func errorAnswer(form ErrorForm, err error) Answer {
	status, classified := statusOf(err)
	code, message := CodeInternal, "The request could not be processed."
	var retryAfter time.Duration
	var own *Error
	switch {
	case errors.As(err, &own):
		retryAfter = own.RetryAfter
		if own.Code != "" {
			code = own.Code
		} else {
			code = codeOf(status)
		}
		if own.Message != "" && classified {
			message = own.Message
		}
	case classified:
		code = codeOf(status)
		if status < 500 {
			message = err.Error()
		}
	}
	body := errorBody(form, status, code, message, retryAfter)
	contentType := "application/problem+json"
	if form == ErrorsJSON {
		contentType = "application/json"
	}
	header := Header{{"Content-Type", contentType}}
	if retryAfter > 0 {
		header = append(header, HeaderField{"Retry-After", strconv.FormatInt(retrySeconds(retryAfter), 10)})
	}
	return Answer{Status: status, Header: header, Body: body}
}

// codeOf makes a code of a status: 404 is "not_found".
func codeOf(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return "status_" + strconv.Itoa(status)
	}
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(text, "'", "")), " ", "_")
}

func errorBody(form ErrorForm, status int, code, message string, retryAfter time.Duration) []byte {
	var body any
	if form == ErrorsJSON {
		body = struct {
			Error   string `json:"error"`
			Message string `json:"message"`
		}{code, message}
	} else {
		body = struct {
			Type         string `json:"type"`
			Title        string `json:"title"`
			Status       int    `json:"status"`
			Detail       string `json:"detail"`
			Error        string `json:"error"`
			Message      string `json:"message"`
			RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
		}{problemBase + code, titleOf(code), status, message, code, message, retryAfter.Milliseconds()}
	}
	// Strings and integers always encode.
	text, _ := json.Marshal(body)
	return text
}

// titleOf makes a title of a code: "not_found" is "Not found".
func titleOf(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// retrySeconds is d in whole seconds, rounded up, as Retry-After wants it.
func retrySeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
