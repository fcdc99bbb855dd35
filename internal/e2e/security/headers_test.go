package security_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// tryToInject is a handler that puts what its client sent into headers, as too
// many do.
func tryToInject(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", value)
		w.Header()["Link"] = []string{value, "<b>"}
		w.Header()[value] = []string{"named by the client"}
		w.WriteHeader(201)
	}
}

// A value with line ends in it stays one value, in the first answer and in the
// replay, and the two are the same bytes.
func TestStoredHeadersDoNotSplit(t *testing.T) {
	p := policy()
	p.Replay = append(p.Replay, "Link")
	for _, value := range []string{
		"a\r\nSet-Cookie: session=stolen", "a\nSet-Cookie: session=stolen", "a\rSet-Cookie: session=stolen",
		"a\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: session=stolen\r\n\r\n", "a\x00\nSet-Cookie: session=stolen",
		"a: b\nSet-Cookie: session=stolen\n", "\nSet-Cookie: session=stolen", "a\u2028Set-Cookie: session=stolen",
	} {
		g := guard(t, p, tryToInject(value))
		text := "POST / HTTP/1.1\r\nHost: a\r\nCaller: alice\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
		var seen []answer
		for range 2 {
			got, answers := raw(t, g.URL, text)
			if len(answers) != 1 || answers[0].status != 201 {
				t.Fatalf("%q: %q", value, got)
			}
			if answers[0].header.Get("Set-Cookie") != "" || strings.Count(got, "\r\n\r\n") != 1 || len(answers[0].header["Link"]) != 2 {
				t.Errorf("%q: the answer was split: %q", value, got)
			}
			seen = append(seen, answers[0])
		}
		seen[1].header.Del("Idempotency-Replayed")
		for _, a := range seen {
			a.header.Del("Date")
		}
		if fmt.Sprint(seen[0]) != fmt.Sprint(seen[1]) {
			t.Errorf("%q: first %+v, replay %+v", value, seen[0], seen[1])
		}
	}
}

// Headers in a row that are not what was stored there are not sent: the answer
// is an error, and the handler does not run again.
func TestCorruptedHeadersAreNotSent(t *testing.T) {
	for _, stored := range []string{
		"Location: a\rSet-Cookie: session=stolen\n", "Location: a\x00\n", "Location: a\n\r\nSet-Cookie: session=stolen\n", "Location: a",
		"Location\n", ": a\n", "Loca tion: a\n", "Location:a\n", "\n", "Location: a\nHTTP/1.1 200 OK\n", "\xff\xfe\n",
	} {
		runs := 0
		g := guard(t, policy(), func(w http.ResponseWriter, r *http.Request) { runs++; w.WriteHeader(201) })
		if a := g.send(t, "alice", "k", "{}"); a.status != 201 {
			t.Fatalf("%+v", a)
		}
		if _, err := g.store.Writer.Exec("UPDATE idempotency_keys SET response_headers = ?", []byte(stored)); err != nil {
			t.Fatal(err)
		}
		a := g.send(t, "alice", "k", "{}")
		if a.status != 500 || a.header.Get("Set-Cookie") != "" || a.header.Get("Location") != "" || a.replayed() || runs != 1 {
			t.Errorf("%q: %+v after %d runs", stored, a, runs)
		}
	}
}

// With sealed answers nothing that was written into a row by somebody else is
// sent, however well it is formed.
func TestForgedAnswersAreNotSent(t *testing.T) {
	sealer, err := runtime.NewAESSealer(runtime.AESKey{ID: 1, Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	g := guard(t, policy(), func(w http.ResponseWriter, r *http.Request) { runs++; w.Write([]byte("genuine")) }, runtime.WithSealer(sealer))
	g.send(t, "alice", "k", "{}")
	g.send(t, "mallory", "k", "{}")
	for _, statement := range []string{
		"UPDATE idempotency_keys SET response_headers = CAST('Set-Cookie: session=stolen' || char(10) AS BLOB), response_body = x'00' WHERE principal = CAST('alice' AS BLOB) OR principal = 'alice'",
		"UPDATE idempotency_keys SET response_headers = x'', response_body = (SELECT m.response_body FROM idempotency_keys AS m WHERE m.principal = CAST('mallory' AS BLOB) OR m.principal = 'mallory')",
	} {
		result, err := g.store.Writer.Exec(statement)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); n == 0 || err != nil {
			t.Fatalf("%d rows, %v", n, err)
		}
		a := g.send(t, "alice", "k", "{}")
		if a.status != 500 || a.header.Get("Set-Cookie") != "" || a.replayed() || runs != 2 {
			t.Errorf("%+v after %d runs", a, runs)
		}
	}
}
