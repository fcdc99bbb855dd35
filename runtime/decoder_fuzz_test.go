package runtime

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
)

// decoderMessages are all that a decoder may say: the place and the rule, never
// the value.
var decoderMessages = regexp.MustCompile(`^(` +
	`The body must be application/json, not [^\n]*\.|` +
	`The body holds more than one JSON value\.|` +
	`The body is not the JSON that is expected: (it is empty|it ends too early|it breaks JSON's syntax at byte \d+|` +
	`(the member "/(text|number|list|list/\d+|list/\d+/X)"|it) must be a JSON [a-z0-9 ]+|` +
	`the member ".*" stands there twice; names that differ in case only are one|it is nested more than 128 deep)\.|` +
	`The (path value "id"|query parameter "(n|f|b|list)"|header "X-N") (is out of range|must be true or false|must be a number|must be an integer|stands there \d+ times; once is allowed|has a value that its type refuses)\.` +
	`)$`)

// FuzzDecoder decodes requests the way that generated decoders do, and checks
// each value against the standard library's account of it.
func FuzzDecoder(f *testing.F) {
	f.Add("7", "n=1&f=2.5&b=true&list=1&list=2", "3", "application/json", []byte(`{"text":"a","number":1}`))
	f.Add("-129", "n=256", "-1", "", []byte(``))
	f.Add("1e3", "f=1e39&b=yes", "9223372036854775808", "text/plain", []byte(`x`))
	f.Add("secret", "f=NaN&f=Inf", "+1", "application/json", []byte(`{"number":1e400} {}`))
	f.Add("0", "list=&list=256", "0x1", "application/json; charset=latin1", []byte(`{"list":[{"x":""}]}`))
	f.Add("0", "list=%zz", "1", "application/json", []byte(`{"list":[{"X":1,"x":2}],"TEXT":"","":0,"":0}`))
	f.Fuzz(func(t *testing.T, id, query, header, contentType string, body []byte) {
		r := httptest.NewRequest("POST", "/", nil)
		r.RequestURI = "/?" + query
		r.SetPathValue("id", id)
		r.Header["X-N"] = []string{header}
		if contentType != "" {
			r.Header["Content-Type"] = []string{contentType}
		}
		request := newRequest(r, Rule{Body: BodyRaw, Headers: []string{"x-n"}}, body)
		var in struct {
			Text   string            `json:"text"`
			Number uint8             `json:"number"`
			List   []struct{ X int } `json:"list"`
		}
		if request.checkQuery() != nil {
			return
		}
		d := request.Decode()
		d.JSON(&in)
		pathID := PathValue(d, "id", ParseInt[int8])
		n := QueryPointer(d, "n", ParseUint[uint8])
		float := QueryPointer(d, "f", ParseFloat[float32])
		boolean := QueryPointer(d, "b", ParseBool[bool])
		list := QueryList(d, "list", ParseInt[int64])
		headerN := HeaderValue(d, "X-N", ParseInt[int64])
		if err := d.Err(); err != nil {
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Status != 400 && refusal.Status != 415 {
				t.Fatalf("%v", err)
			}
			if !decoderMessages.MatchString(refusal.Message) {
				t.Fatalf("it says %q", refusal.Message)
			}
			return
		}
		values := request.Query()
		for _, wrong := range []bool{
			differs(int64(pathID), id, 8),
			differs(headerN, header, 64),
			n != nil && (len(values["n"]) != 1 || differsUnsigned(uint64(*n), values["n"][0], 8)),
			n == nil && len(values["n"]) > 0,
			float != nil && (math.IsNaN(float64(*float)) || math.IsInf(float64(*float), 0)),
			boolean != nil && strconv.FormatBool(*boolean) != strconv.FormatBool(isTrue(values["b"][0])),
			len(list) != len(values["list"]),
		} {
			if wrong {
				t.Fatalf("path %q, query %q, header %q became %d, %v, %v, %v, %v, %d", id, query, header, pathID, n, float, boolean, list, headerN)
			}
		}
		for i, v := range list {
			if differs(v, values["list"][i], 64) {
				t.Fatalf("query %q became %v", query, list)
			}
		}
	})
}

func differs(got int64, text string, bits int) bool {
	want, err := strconv.ParseInt(text, 10, bits)
	return err != nil || got != want
}

func differsUnsigned(got uint64, text string, bits int) bool {
	want, err := strconv.ParseUint(text, 10, bits)
	return err != nil || got != want
}

func isTrue(text string) bool {
	v, err := strconv.ParseBool(text)
	return err == nil && v
}

// FuzzRequest sends whole requests to an endpoint: no request makes it panic,
// and each ends with an answer that is documented for requests as they come.
func FuzzRequest(f *testing.F) {
	const head = "POST /v1/orders/7?n=1 HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n"
	f.Add([]byte(head + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte(head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	f.Add([]byte(head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"))
	f.Add([]byte("PUT /v1/orders/a%2Fb HTTP/1.0\r\nIdempotency-Key: \"\r\n\r\n"))
	f.Add([]byte("POST http://b/v1/orders/1;x HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := readRequest(string(text))
		if err != nil {
			return
		}
		runs := 0
		server := fuzzServer(t, func() { runs++ })
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		switch w.Code {
		case 200:
			if runs != 1 {
				t.Fatalf("200 after %d runs", runs)
			}
		case 400, 413, 415, 422:
			if runs != 0 {
				t.Fatalf("%d after %d runs: %s", w.Code, runs, w.Body)
			}
		case 301, 307, 404, 405: // of the router
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// fuzzServer serves one endpoint with a decoder of its own.
func fuzzServer(t *testing.T, run func()) http.Handler {
	server, err := NewServer(absentLedger{}, func(*http.Request) (string, error) { return "alice", nil })
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultPolicy("POST /v1/orders/{}")
	p.RequestMax, p.Sweep = 64, 0
	mux := http.NewServeMux()
	mux.Handle("POST /v1/orders/{id}", server.Handle(p, Route{Method: "POST", Pattern: "/v1/orders/{id}"}, func(r *Request) (Work, error) {
		var in struct{ A int }
		d := r.Decode()
		d.JSON(&in)
		PathValue(d, "id", ParseInt[int64])
		QueryValue(d, "n", ParseUint[uint16])
		return func(context.Context) (*Response, error) {
			run()
			return NoContent(200), nil
		}, d.Err()
	}))
	return mux
}

// absentLedger has no row and takes every claim: it is enough for one request.
type absentLedger struct{ Ledger }

func (absentLedger) Insert(_ context.Context, c Claim) (Claimed, bool, error) {
	return Claimed{Generation: 1, ClaimedAt: 1, LeaseUntil: 1 + c.Lease.Milliseconds(), Now: 1}, true, nil
}

func (absentLedger) Read(context.Context, ID) (Row, bool, error) { return Row{}, false, nil }

func (absentLedger) Complete(context.Context, Completion) (bool, error) { return true, nil }
