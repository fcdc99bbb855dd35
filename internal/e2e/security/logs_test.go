package security_test

import (
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// secret stands in everything that a client sends and that no log may repeat.
const secret = "S3CRET"

// What goes wrong is logged on one line each, without keys, bodies or
// credentials, whatever the client put into them.
func TestLogsOfTheShop(t *testing.T) {
	s := startShop(t)
	for _, c := range []struct {
		key, body string
		status    int
	}{
		{`failing-` + secret + `" level=ERROR msg="forged`, `{"sku":"` + secret + `","qty":1,"simulate":{"outcome":"error"}}`, 500},
		{`panicking-` + secret + `%0a%0dforged`, `{"sku":"` + secret + `","qty":1,"simulate":{"outcome":"panic"}}`, 500},
		{`invalid-` + secret, `{"sku":"` + secret + `","qty":"` + secret + `"}`, 400},
		{`unvalidated-` + secret, `{"qty":-1,"` + secret + `":1}`, 422},
		{`good-` + secret, `{"sku":"` + secret + `","qty":1}`, 201},
	} {
		for range 2 {
			if _, answers := raw(t, s.URL, post("Idempotency-Key: "+c.key+"\r\n", c.body)); len(answers) != 1 || answers[0].status != c.status {
				t.Errorf("%q: %+v, want %d", c.key, answers, c.status)
			}
		}
		raw(t, s.URL, post("Idempotency-Key: "+c.key+"\x7f\r\n", c.body))
		raw(t, s.URL, post("Idempotency-Key: "+c.key+"\r\n", c.body+" "))
	}
	log := s.Log()
	if !strings.Contains(log, "handler failed") || !strings.Contains(log, "handler panicked") {
		t.Errorf("the log lacks what went wrong:\n%s", log)
	}
	if strings.Contains(log, secret) || strings.Contains(log, "forged") {
		t.Errorf("the log repeats what a client sent:\n%s", log)
	}
}

// logLine is what every line of a text log looks like.
var logLine = regexp.MustCompile(`^time=\S+ level=(INFO|WARN|ERROR) msg="idemgen: [a-z0-9 ,;:=]+" operation="POST /"( [a-z_]+=("(\\.|[^"\\])*"|[^" \n]+))*$`)

// Errors and header names that carry a client's text, and callers of any name,
// stay inside their quotes.
func TestLogsStayOnTheirLines(t *testing.T) {
	const forged = "x\ntime=now level=ERROR msg=forged\r\n\x1b[31m\"' \x00"
	for name, h := range map[string]http.HandlerFunc{
		"header": func(w http.ResponseWriter, r *http.Request) { w.Header()[forged] = []string{forged} },
		"panic":  func(http.ResponseWriter, *http.Request) { panic(forged) },
		"error":  func(http.ResponseWriter, *http.Request) { panic(errors.New(forged)) },
		"large":  func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) },
	} {
		g := guard(t, policy(), h, runtime.WithKeyHashSecret([]byte("0123456789abcdef")))
		for _, caller := range []string{"alice", "a%0Atime=now%20level=ERROR%20msg=forged", ""} {
			g.send(t, caller, `k" msg="forged `+secret, "{}")
		}
		log := strings.TrimSuffix(g.log.String(), "\n")
		if log == "" {
			t.Errorf("%s: nothing was logged", name)
		}
		if strings.Contains(log, secret) {
			t.Errorf("%s: the log has the key:\n%s", name, log)
		}
		for _, line := range strings.Split(log, "\n") {
			if !logLine.MatchString(line) {
				t.Errorf("%s: the log has the line\n%s", name, line)
			}
		}
	}
}

// The program's default logger, which most will use, keeps lines too.
func TestLogsOfTheDefaultLogger(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	log := &lines{}
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)))
	g := guard(t, policy(), func(http.ResponseWriter, *http.Request) { panic("x\n{\"level\":\"ERROR\"}") }, runtime.WithLogger(slog.Default()))
	g.send(t, "alice", secret, "{}")
	for _, line := range strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n") {
		if !strings.HasPrefix(line, `{"time":`) || !strings.HasSuffix(line, "}") || strings.Contains(line, secret) {
			t.Errorf("the log has the line\n%s", line)
		}
	}
}
