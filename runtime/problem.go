package runtime

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problemBase is where the problem types of the runtime's own codes are
// described.
const problemBase = "https://github.com/idemgen/idemgen/blob/main/docs/problems.md#"

// aboutBlank is the type of a problem of which no more is said than its status
// tells (RFC 9457, section 4.2.1): the title is that of the status then.
const aboutBlank = "about:blank"

// Problem is an error answer: what a problem document of RFC 9457 says and
// what a [ProblemFunc] renders.
type Problem struct {
	Type       string // a URI, see [WithProblemBase]
	Title      string
	Status     int
	Detail     string // for the caller
	Code       string // stable, such as "idempotency_key_reused"
	Retry      Retry  // what the caller should do next
	RetryAfter time.Duration
	Members    map[string]any // further members; must not be changed
}

// ProblemFunc renders an error answer: the runtime's refusals and what it makes
// of a handler's error. The status and Retry-After are sent as they are. An
// empty content type asks for the form that the policy says. What is made of a
// handler's error is stored and replayed as it was rendered. It is called from
// many goroutines at once; when it panics, the policy's form is sent.
type ProblemFunc func(ctx context.Context, p Problem) (contentType string, body []byte)

// statusError is an error that says its status.
type statusError interface {
	error
	HTTPStatus() int
}

// statusOf is the status that err asks for with HTTPStatus, and whether it
// asks for one: an error without is unclassified.
func statusOf(err error) (status int, classified bool) {
	_, status, classified = deciding(err)
	return status, classified
}

// deciding is the error that says the status of err, which is 500 and
// unclassified where none does: err itself, behind the marks of [Release] and
// [Hold]. What it wraps does not decide, because that may be what another
// service has decided about a request of ours.
func deciding(err error) (decides statusError, status int, classified bool) {
	decides, ok := unmarked(err).(statusError)
	if !ok {
		return nil, http.StatusInternalServerError, false
	}
	if guardedCall("HTTPStatus", func() error { status = decides.HTTPStatus(); return nil }) != nil {
		return nil, http.StatusInternalServerError, false
	}
	if status < 400 || status > 599 {
		return decides, http.StatusInternalServerError, false
	}
	return decides, status, true
}

// messageOf is the text of err that its caller may see, or "": that of the
// error that says the status. From 500 on such a text is for the log, unless
// the error is an [Error], whose message is written for the caller.
func messageOf(err error) string {
	decides, status, classified := deciding(err)
	if !classified {
		return ""
	}
	if own, ok := decides.(*Error); ok {
		return own.Message
	}
	if status >= 500 {
		return ""
	}
	return decides.Error()
}

// problemOf says what err tells its caller, without what to do next.
func (s *settings) problemOf(err error) Problem {
	decides, status, _ := deciding(err)
	p := Problem{Status: status, Code: CodeInternal, Detail: messageOf(err)}
	if p.Detail == "" {
		p.Detail = "The request could not be processed."
	}
	own, isOwn := decides.(*Error)
	switch {
	case isOwn:
		p.Code, p.RetryAfter, p.Members, p.Type, p.Title = own.Code, own.RetryAfter, own.Members, own.Type, own.Title
		if p.Code == "" {
			p.Code = codeOf(status)
		}
	case status != http.StatusInternalServerError:
		p.Code = codeOf(status)
	}
	s.name(&p)
	return p
}

// name gives a problem the type and the title of its code, where it has none.
func (s *settings) name(p *Problem) {
	if p.Type == "" {
		switch {
		case s.problemBase != "":
			p.Type = s.problemBase + p.Code
		case ownCodes[p.Code]:
			p.Type = problemBase + p.Code
		default:
			p.Type = aboutBlank
		}
	}
	if p.Title == "" && p.Type == aboutBlank {
		p.Title = http.StatusText(p.Status)
	}
	if p.Title == "" {
		p.Title = titleOf(p.Code)
	}
}

// render makes the answer of a problem.
func (s *settings) render(ctx context.Context, form ErrorForm, p Problem) Answer {
	contentType, body := s.rendered(ctx, p)
	if contentType == "" {
		contentType, body = s.document(ctx, form, p)
	}
	header := Header{{"Content-Type", contentType}}
	if p.RetryAfter > 0 {
		header = append(header, HeaderField{"Retry-After", strconv.FormatInt(retrySeconds(p.RetryAfter), 10)})
	}
	return Answer{Status: p.Status, Header: header, Body: body}
}

// rendered is what the service's own function makes of a problem. Its panic
// must not take the answer, or the end of a claim, with it, nor must it hold
// them up.
func (s *settings) rendered(ctx context.Context, p Problem) (contentType string, body []byte) {
	if s.renderProblem == nil {
		return "", nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	r, err := beside(limited, "the function of WithProblemRenderer", func() (rendering, error) {
		contentType, body := s.renderProblem(ctx, p)
		return rendering{fieldValue(contentType), body}, nil
	})
	if err != nil {
		s.say(ctx, slog.LevelError, "the function of WithProblemRenderer failed; the answer has the policy's form",
			slog.String("code", p.Code), slog.Any("error", err))
	}
	return r.contentType, r.body
}

type rendering struct {
	contentType string
	body        []byte
}

// refusalAnswer renders an error that no row keeps.
func (g *Guard) refusalAnswer(ctx context.Context, err error) Answer {
	s := &g.engine.settings
	p := s.problemOf(err)
	p.Retry = retryOfRefusal(p.Code, p.Status)
	return s.render(ctx, g.policy.Errors, p)
}

// failureAnswer renders the error that work ended with, under what becomes of
// its claim.
func (g *Guard) failureAnswer(ctx context.Context, err error, as Failure) Answer {
	s := &g.engine.settings
	p := s.problemOf(err)
	p.Retry = retryOfFailure(p.Status, as)
	return s.render(ctx, g.policy.Errors, p)
}

// codeOf makes a code of a status: 404 is "not_found".
func codeOf(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return "status_" + strconv.Itoa(status)
	}
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(text, "'", "")), " ", "_")
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
