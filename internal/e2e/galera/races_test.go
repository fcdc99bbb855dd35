package galera_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

const (
	keys   = 200
	racers = 12
)

// Connections that may read the past are refused at the start.
func TestReadsOfThePastAreRefused(t *testing.T) {
	name := create(t, "refused")
	db, err := sql.Open("mysql", cluster.Nodes[1].DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := ledger.Open(t.Context(), db); err == nil || !strings.Contains(err.Error(), "wsrep_sync_wait") {
		t.Errorf("Open without wsrep_sync_wait: %v", err)
	}
	for _, options := range []string{"wsrep_sync_wait=1", "wsrep_sync_wait=7"} {
		db, err := sql.Open("mysql", cluster.Nodes[1].DSN(name, options))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := ledger.Open(t.Context(), db); err != nil {
			t.Errorf("Open with %s: %v", options, err)
		}
	}
}

// One node at a time keeps all that a single server keeps.
func TestLedgerOnANode(t *testing.T) {
	name := create(t, "conformance")
	db := open(t, 1, name)
	clean := func(t *testing.T) *sqlledger.Ledger {
		t.Helper()
		if _, err := db.Exec("DROP TABLE IF EXISTS idempotency_keys, idempotency_keys_schema, ledgertest_effects"); err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	age := func(t *testing.T) func(time.Duration) {
		return func(d time.Duration) {
			t.Helper()
			ms := d.Milliseconds()
			if _, err := db.Exec(`UPDATE idempotency_keys SET claimed_at = claimed_at - ?, lease_until = lease_until - ?,
				expires_at = expires_at - ?, gone_at = gone_at - ?, sweep_at = sweep_at - ?, created_at = created_at - ?`, ms, ms, ms, ms, ms, ms); err != nil {
				t.Fatal(err)
			}
		}
	}
	ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
		return ledgertest.Harness{Ledger: clean(t), Age: age(t)}
	})
	ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
		return ledgertest.TxHarness{Ledger: clean(t), DB: db, Age: age(t), Reader: db}
	})
}

// race lets clients at all nodes ask for one key at once, and says how often
// its work ran. No client may get an answer of 500 or more.
func race(t *testing.T, key string, do func(node int) (runtime.Result, error)) {
	t.Helper()
	rig.Together(racers, func(i int) {
		result, err := do(i % nodes)
		if s := rig.Status(result, err); s != 201 && s != 409 {
			t.Errorf("%s: a client of node %d got %d, %v", key, i%nodes, s, err)
		}
	})
}

func TestRacesForFreshKeys(t *testing.T) {
	all := ledgers(t, create(t, "fresh"))
	g := guards(t, all, nil)
	retried := retries(all)
	for k := range keys {
		key := fmt.Sprint("k", k)
		var runs atomic.Int64
		race(t, key, func(node int) (runtime.Result, error) {
			return g[node].Do(context.Background(), rig.Call(key), func(context.Context) (runtime.Answer, error) {
				runs.Add(1)
				return runtime.Answer{Status: 201, Body: []byte(key)}, nil
			})
		})
		wantOne(t, g, key, runs.Load())
	}
	t.Logf("%d statements were sent again", retried.Load())
}

func TestRacesForStaleKeys(t *testing.T) {
	all := ledgers(t, create(t, "stale"))
	g := guards(t, all, nil)
	retried := retries(all)
	for k := range keys {
		key := fmt.Sprint("k", k)
		f := rig.InsertFor(t, all[k%nodes], key)
		if held, err := all[k%nodes].EndLease(t.Context(), f); err != nil || !held {
			t.Fatal(held, err)
		}
		var runs atomic.Int64
		race(t, key, func(node int) (runtime.Result, error) {
			return g[node].Do(context.Background(), rig.Call(key), func(context.Context) (runtime.Answer, error) {
				runs.Add(1)
				return runtime.Answer{Status: 201, Body: []byte(key)}, nil
			})
		})
		wantOne(t, g, key, runs.Load())
		if row := rig.Read(t, all[0], key); row.Generation != 2 {
			t.Errorf("%s: the row is %+v", key, row)
		}
	}
	t.Logf("%d statements were sent again", retried.Load())
}

// Effects in the cluster itself stand once, although a commit may be refused
// for the sake of one on another node.
func TestRacesOfTransactions(t *testing.T) {
	name := create(t, "transactions")
	all := ledgers(t, name)
	g := guards(t, all, func(p *runtime.Policy) { p.Failure = runtime.FailureRelease })
	db := open(t, 0, name)
	if _, err := db.Exec("CREATE TABLE effects (name VARCHAR(100) NOT NULL, id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	for k := range keys {
		key := fmt.Sprint("k", k)
		if k%2 == 1 {
			f := rig.InsertFor(t, all[k%nodes], key)
			if held, err := all[k%nodes].EndLease(t.Context(), f); err != nil || !held {
				t.Fatal(held, err)
			}
		}
		do := func(node int) (runtime.Result, error) {
			return runtime.DoTx(context.Background(), g[node], all[node], rig.Call(key), func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
				if _, err := tx.Exec("INSERT INTO effects (name) VALUES (?)", key); err != nil {
					return runtime.Answer{}, err
				}
				return runtime.Answer{Status: 201, Body: []byte(key)}, nil
			})
		}
		race(t, key, do)
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM effects WHERE name = ?", key).Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: %d effects stand, %v", key, n, err)
		}
		wantOne(t, g, key, 1)
	}
}

// retries counts the statements that are sent again.
func retries(all [nodes]*sqlledger.Ledger) *atomic.Int64 {
	var n atomic.Int64
	for _, l := range all {
		l.NotifyRetry(func(context.Context, string, error) { n.Add(1) })
	}
	return &n
}

// wantOne says that work ran once and that every node replays its answer.
func wantOne(t *testing.T, g [nodes]*runtime.Guard, key string, runs int64) {
	t.Helper()
	if runs != 1 {
		t.Errorf("%s: the work ran %d times", key, runs)
	}
	for node := range g {
		result, err := g[node].Do(t.Context(), rig.Call(key), func(context.Context) (runtime.Answer, error) {
			t.Errorf("%s: node %d ran the work again", key, node)
			return runtime.Answer{Status: 201}, nil
		})
		if rig.Status(result, err) != 201 || string(result.Answer.Body) != key {
			t.Errorf("%s: node %d replays %+v, %v", key, node, result, err)
		}
	}
}

// What one node has completed, the others know at once.
func TestReadsAfterAnotherNodesCompletion(t *testing.T) {
	all := ledgers(t, create(t, "reads"))
	for k := range 300 {
		key := fmt.Sprint("k", k)
		from, to := all[k%nodes], all[(k+1)%nodes]
		f := rig.Insert(t, from, key)
		if row := rig.Read(t, to, key); row.Owner != f.Owner {
			t.Fatalf("%s: the other node reads %+v", key, row)
		}
		if stands, err := from.Complete(t.Context(), rig.Completion(f, []byte(key))); err != nil || !stands {
			t.Fatal(stands, err)
		}
		if row := rig.Read(t, to, key); !row.Completed || string(row.Answer.Body) != key {
			t.Fatalf("%s: the other node reads %+v after the completion", key, row)
		}
	}
}
