package main

import (
	"errors"
	"flag"
	"fmt"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/idemgen/idemgen/prove/faults"
)

// words are what the command line says of a server.
type words struct {
	database, elsewhere     string
	servers, clients        int
	lease                   time.Duration
	table, principals, mode string
	request, body, answer   string
	effects, prepare        string
	headers, services       []string
	closers                 []func()
}

func (w *words) define(f *flag.FlagSet) {
	f.StringVar(&w.database, "db", "sqlite", "sqlite, postgres or mysql, to start one; postgres://user@host/name or mysql://user@host/name, to be used by nobody else, or env:NAME for what NAME has in the environment, where a password belongs; or an SQLite file")
	f.IntVar(&w.servers, "servers", 3, "how many processes of the server to start")
	f.IntVar(&w.clients, "clients", 16, "how many clients ask at once")
	f.StringVar(&w.request, "request", "", "method and path, as in \"POST /v1/orders\"; like all texts below with {reference}, {number}, {amount}, {principal} and {key} where they come")
	f.StringVar(&w.body, "body", "", "body; clients that make a mistake send another {amount} under the same key")
	f.Func("header", "a header, as in \"Authorization: Bearer {principal}\"; may be given several times (default \"Idempotency-Key: {key}\" and JSON's Content-Type)", func(text string) error {
		w.headers = append(w.headers, text)
		return nil
	})
	f.StringVar(&w.principals, "principals", "alice,bob", "who asks; they use the same keys")
	f.StringVar(&w.answer, "answer", "", "a text that every success has in it")
	f.StringVar(&w.mode, "mode", "tx", "tx: the effect commits with its answer; claim: it stands once for each claim at most; derived: it stands elsewhere, once, by a derived key or a fencing number")
	f.StringVar(&w.effects, "effects", "", "SQL that lists all effects, a row for each: its reference, and its amount where it has one")
	f.StringVar(&w.elsewhere, "effects-db", "", "URL, env:NAME or file of the database that has the effects, when it is another one")
	f.StringVar(&w.prepare, "prepare", "", "SQL to run before each new reference, perhaps twice")
	f.StringVar(&w.table, "table", "idempotency_keys", "the ledger's table; empty where it is not in this database")
	f.DurationVar(&w.lease, "lease", 30*time.Second, "the endpoint's lease; servers are paused for longer")
	f.Func("service", "NAME=HOST:PORT that the server calls: {NAME} stands for a way to it that gets harmed; may be given several times", func(text string) error {
		w.services = append(w.services, text)
		return nil
	})
}

func (w *words) close() {
	for _, c := range slices.Backward(w.closers) {
		c()
	}
}

// target opens what the words are about. Call close at the end.
func (w *words) target(command []string, folder string) (_ *faults.Target, err error) {
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if !mentions(command, "{listen}") || !mentions(command, "{db}") && !mentions(command, "{dbaddr}") {
		return nil, errors.New("give the server's command line behind --, with {listen} for the address to listen on and {db} for the database's URL or file (or {dbaddr} for its host and port); words NAME=value before the program go into its environment")
	}
	request, err := w.asked()
	if err != nil {
		return nil, err
	}
	d, err := w.open(w.database, folder)
	if err != nil {
		return nil, err
	}
	if w.elsewhere != "" {
		other, err := w.open(w.elsewhere, folder)
		if err != nil {
			return nil, err
		}
		request.EffectsIn = other.DB
	}
	services, err := w.lines()
	if err != nil {
		return nil, err
	}
	return &faults.Target{
		Name: "server", Database: d, Requests: []*faults.Request{request},
		Servers:  slices.Repeat([][]string{command}, w.servers),
		Services: services, Principals: strings.Split(w.principals, ","),
		Table: w.table, Lease: w.lease, Clients: w.clients,
	}, nil
}

func (w *words) open(name, folder string) (*faults.Database, error) {
	shown := "database " + name
	if variable, ok := strings.CutPrefix(name, "env:"); ok {
		if name = os.Getenv(variable); name == "" {
			return nil, fmt.Errorf("%s: the variable is not set", shown)
		}
	} else if strings.Contains(name, "://") {
		shown = "the database" // its URL may have a password in it
	}
	d, err := faults.OpenDatabase(name, folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	w.closers = append(w.closers, d.Close)
	return d, nil
}

// asked is the request.
func (w *words) asked() (*faults.Request, error) {
	method, path, ok := strings.Cut(w.request, " ")
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("-request is %q: want a method and a path, as in \"POST /v1/orders\"", w.request)
	}
	effect, ok := map[string]faults.Effect{"tx": faults.Transaction, "claim": faults.Claim, "derived": faults.Derived}[w.mode]
	if !ok {
		return nil, fmt.Errorf("-mode is %q: want tx, claim or derived", w.mode)
	}
	r := &faults.Request{
		Name: "request", Method: method, Path: path, Body: w.body, Header: map[string]string{}, Answer: w.answer,
		Effect: effect, Effects: w.effects, Prepare: w.prepare,
	}
	if w.body != "" {
		r.Header["Content-Type"] = "application/json"
	}
	for _, text := range w.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("-header is %q: want a name, a colon and a value", text)
		}
		r.Header[textproto.CanonicalMIMEHeaderKey(name)] = strings.TrimSpace(value)
	}
	if !mentions(w.headers, "{key}") {
		r.Header["Idempotency-Key"] = "{key}"
	}
	if !mentions(append([]string{path}, w.headers...), "{principal}") {
		return nil, errors.New("no -header has {principal}: servers must know who asks, or the principals' keys are one's")
	}
	if !mentions([]string{path, w.body}, "{reference}") && !mentions([]string{path, w.body}, "{number}") {
		return nil, errors.New("neither -request nor -body has {reference} or {number}: effects could not be told apart")
	}
	return r, nil
}

// lines are ways to the services.
func (w *words) lines() (map[string]*faults.Line, error) {
	lines := map[string]*faults.Line{}
	for _, text := range w.services {
		name, address, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("-service is %q: want NAME=HOST:PORT", text)
		}
		l, err := faults.NewLine("tcp", address)
		if err != nil {
			return nil, err
		}
		w.closers = append(w.closers, l.Stop)
		lines[name] = l
	}
	return lines, nil
}

// mentions reports whether one of the texts has a word in it.
func mentions(texts []string, word string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, word) })
}
