package modes_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/runtime"
)

// A payment service that charges and then closes the connection is no conflict
// of ours, nor is any other error of a peer: under store the failure is the
// answer, and the charge is made once, also where conflicts are retried.
func TestErrorsOfPeersAreStored(t *testing.T) {
	var charges atomic.Int64
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		charges.Add(1)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	t.Cleanup(bank.Close)
	var none *runtime.Error
	peers := map[string]func() error{
		"a closed connection": func() error {
			request, err := http.NewRequest(http.MethodPost, bank.URL, strings.NewReader("{}"))
			if err != nil {
				return err
			}
			_, err = http.DefaultClient.Do(request)
			return fmt.Errorf("charge: %w", err)
		},
		"a decoder at the end": func() error { return json.NewDecoder(strings.NewReader("")).Decode(new(int)) },
		"an error of a client": func() error { return fmt.Errorf("charge: %w", &runtime.Error{Status: 409, Code: "taken"}) },
		"a nil pointer":        func() error { return none },
		"EOF":                  func() error { return io.EOF },
	}
	for engine, create := range databases {
		for _, once := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/once=%v", engine, once), func(t *testing.T) {
				r := newRig(t, create(t))
				// As many as a pool has connections and more: none is left behind.
				r.db.Writer.SetMaxOpenConns(2)
				e, err := runtime.NewEngine(r.db.Keys, runtime.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				p := runtime.DefaultPolicy("POST /v1/stored")
				p.Failure, p.Once, p.Retry = runtime.FailureStore, once, 2
				g, err := e.Guard(p)
				if err != nil {
					t.Fatal(err)
				}
				for name, peer := range peers {
					runs, before := 0, charges.Load()
					call := runtime.Call{Principal: "alice", Key: name, Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{1} }}
					for i := range 2 {
						result, err := runtime.DoTx(t.Context(), g, r.db.Keys, call, func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
							runs++
							if err := checkout.Book(ctx, tx, strings.ReplaceAll(name, " ", "-"), 1); err != nil {
								t.Fatal(err)
							}
							return runtime.Answer{}, peer()
						})
						if err != nil || result.Answer.Status != 500 || result.Replayed != (i == 1) {
							t.Errorf("%s: %+v, %v", name, result, err)
						}
					}
					if made := charges.Load() - before; runs != 1 || made > 1 {
						t.Errorf("%s: %d runs, %d charges", name, runs, made)
					}
					r.wantEffects("/v1/transfers", strings.ReplaceAll(name, " ", "-"), 1, 0)
				}
				if n := r.db.Writer.Stats().InUse; n != 0 {
					t.Errorf("%d connections are in use", n)
				}
				if err := e.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
	}
}
