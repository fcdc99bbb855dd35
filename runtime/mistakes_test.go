package runtime_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// nilHandler is a pointer type that logs.
type nilHandler struct{ slog.Handler }

// What holds nothing that could work is refused where it is given.
func TestNilsAreRefused(t *testing.T) {
	var ledger *memory.Ledger
	var tx *txLedger
	for name, make := range map[string]func() error{
		"ledger":     func() error { _, err := runtime.NewServer(ledger, bearer, quiet); return err },
		"engine":     func() error { _, err := runtime.NewEngine(ledger, quiet); return err },
		"middleware": func() error { _, err := runtime.NewMiddleware(policy(), ledger, bearer, quiet); return err },
		"operator":   func() error { _, err := runtime.NewOperator(ledger, quiet); return err },
		"tx ledger":  func() error { _, err := runtime.NewEngine(tx, quiet); return err },
		"ObserverFunc": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithObserver(runtime.ObserverFunc(nil)))
			return err
		},
		"observer": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithObserver((*events)(nil)))
			return err
		},
		"sealer": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithSealer((*runtime.AESSealer)(nil)))
			return err
		},
		"zero sealer": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithSealer(&runtime.AESSealer{}))
			return err
		},
		"zero logger": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithLogger(&slog.Logger{}))
			return err
		},
		"log handler": func() error {
			_, err := runtime.NewEngine(memory.New(), runtime.WithLogger(slog.New((*nilHandler)(nil))))
			return err
		},
	} {
		if err := make(); err == nil || !strings.HasPrefix(err.Error(), "idemgen: ") {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}
}

// What a policy says of transactions is refused where there is none, and what
// does not go with them where there is one.
func TestPoliciesOutOfPlaceAreRefused(t *testing.T) {
	ran := func(context.Context) (runtime.Answer, error) { t.Error("it ran"); return runtime.Answer{}, nil }
	for name, change := range map[string]func(*runtime.Policy){
		"Once":  func(p *runtime.Policy) { p.Once = true },
		"Retry": func(p *runtime.Policy) { p.Retry = 1 },
	} {
		p := policy()
		change(&p)
		for shape, make := range map[string]func(*rig) error{
			"Do": func(g *rig) error {
				e, err := runtime.NewEngine(g.ledger, quiet)
				if err != nil {
					return nil
				}
				guard, err := e.Guard(p)
				if err != nil {
					return nil
				}
				_, err = guard.Do(t.Context(), keyedCall("k"), ran)
				return err
			},
			"Handle": func(g *rig) error {
				g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
				return g.server.Err()
			},
			"HandleFunc": func(g *rig) error {
				g.server.HandleFunc(p, orders, func(http.ResponseWriter, *http.Request) {})
				return g.server.Err()
			},
			"middleware": func(g *rig) error {
				_, err := runtime.NewMiddleware(p, g.ledger, bearer, quiet)
				return err
			},
		} {
			if err := make(newRig(t)); err == nil || !strings.Contains(err.Error(), name+": only work in a transaction") {
				t.Errorf("%s with %s: %v", shape, name, err)
			}
		}
	}
	for name, change := range map[string]func(*runtime.Policy){
		"Renew": func(p *runtime.Policy) { p.Renew = true },
		"Once":  func(p *runtime.Policy) { p.Once = true },
	} {
		p := txPolicy()
		change(&p)
		l := &txLedger{faulty: newRig(t).ledger}
		e, err := runtime.NewEngine(l, quiet)
		if err != nil {
			t.Fatal(err)
		}
		guard, err := e.Guard(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = runtime.DoTx(t.Context(), guard, l, keyedCall("k"), func(ctx context.Context, _ *bookTx) (runtime.Answer, error) { return ran(ctx) })
		if err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("DoTx with %s: %v", name, err)
		}
	}
}

func keyedCall(key string) runtime.Call {
	return runtime.Call{Principal: "alice", Key: key, Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{1} }}
}

// A call that lacks a part is refused before anything is claimed for it.
func TestCallsThatLackAPart(t *testing.T) {
	l := &txLedger{faulty: newRig(t).ledger}
	e, err := runtime.NewEngine(l, quiet)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := e.Guard(txPolicy())
	if err != nil {
		t.Fatal(err)
	}
	work := func(context.Context) (runtime.Answer, error) { t.Error("it ran"); return runtime.Answer{}, nil }
	txWork := func(ctx context.Context, _ *bookTx) (runtime.Answer, error) { return work(ctx) }
	bare := keyedCall("k")
	bare.Fingerprint = nil
	for name, do := range map[string]func() error{
		"Do without a fingerprint":     func() error { _, err := guard.Do(t.Context(), bare, work); return err },
		"DoTx without a fingerprint":   func() error { _, err := runtime.DoTx(t.Context(), guard, l, bare, txWork); return err },
		"Lookup without a fingerprint": func() error { _, _, err := guard.Lookup(t.Context(), bare); return err },
		"DoTx without a ledger": func() error {
			_, err := runtime.DoTx(t.Context(), guard, (*txLedger)(nil), keyedCall("k"), txWork)
			return err
		},
	} {
		if err := do(); err == nil || !strings.HasPrefix(err.Error(), "idemgen: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, found, err := l.Read(t.Context(), runtime.ID{Principal: "alice", Key: "k"}); found || err != nil {
		t.Errorf("a row is left: %v, %v", found, err)
	}
}

// Err tells of every mistake, and an endpoint that was not made does not look
// like one that is not there.
func TestErrTellsOfEveryMistake(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Once = true
	h := g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
	runtime.HandleTx[*bookTx](g.server, (*txLedger)(nil), txPolicy(), orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) { return nil, nil })
	g.server.HandleFunc(policy(), orders, nil)
	g.server.Handle(runtime.Policy{Operation: "POST /zero"}, orders, nil)
	err := g.server.Err()
	for _, want := range []string{"Once: only work", "nil ledger", "the function that makes its handler is nil", `policy of "POST /zero"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	wantCode(t, do(h, request("k", "")), 500, runtime.CodeInternal)
	if !strings.Contains(g.log.String(), "Once: only work") {
		t.Errorf("the log: %s", g.log.String())
	}
}
