package ledgertest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// TxHarness is a ledger on database/sql under test.
type TxHarness = TxHarnessOf[*sql.Tx]

// TxHarnessOf is a ledger with transactions of another kind under test.
type TxHarnessOf[T any] struct {
	// Ledger is empty, and used by one case alone. Its pool may have a single
	// connection.
	Ledger runtime.TxLedger[T]

	// DB reads what the ledger's database has committed, and may create
	// tables there. It may be the ledger's own pool.
	DB *sql.DB

	// Age is as in [Harness].
	Age func(d time.Duration)

	// Reader is a pool of connections beside a transaction's, on which the
	// ledger reads too. It is nil where there is none.
	Reader *sql.DB
}

// RunTx runs the suite of transactions. open is called for each case.
func RunTx(t *testing.T, open func(t *testing.T) TxHarness) {
	RunTxOf(t, func(tx *sql.Tx) Handle { return sqlHandle{tx} }, open)
}

// RunTxOf is [RunTx] for transactions of another kind; handle is what the
// suite does with one.
func RunTxOf[T any](t *testing.T, handle func(T) Handle, open func(t *testing.T) TxHarnessOf[T]) {
	var once []txCase
	t.Run("CanOnce", func(t *testing.T) {
		once = notOnceCases
		if _, can := onceOf(open(t).Ledger, handle); can {
			once = onceCases
		}
	})
	for _, g := range []struct {
		name  string
		cases []txCase
	}{
		{"Commit", commitCases},
		{"Begin", beginCases},
		{"Conflicts", conflictCases},
		{"Ended", endedCases},
		{"Contexts", txContextCases},
		{"Races", txRaceCases},
		{"Once", once},
	} {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					h := open(t)
					s := &txSuite{
						suite: &suite{T: t, ledger: h.Ledger, age: h.Age},
						tx:    handled[T]{h.Ledger, handle}, db: h.DB, reader: h.Reader,
					}
					s.once, _ = onceOf(h.Ledger, handle)
					s.createEffects()
					c.run(s)
				})
			}
		})
	}
}

// txCase is one rule of transactions.
type txCase struct {
	name string
	run  func(*txSuite)
}

// txSuite is one case's view of its ledger and of the table of effects.
type txSuite struct {
	*suite
	tx     runtime.TxLedger[Handle]
	once   beginOnce // nil where the ledger has none
	db     *sql.DB
	reader *sql.DB
}

func (s *txSuite) createEffects() {
	s.Helper()
	if _, err := s.db.Exec("CREATE TABLE ledgertest_effects (name VARCHAR(100) NOT NULL PRIMARY KEY)"); err != nil {
		s.Fatal(err)
	}
}

// begin opens the transaction of a claim, which must be held.
func (s *txSuite) begin(f runtime.Fence) runtime.Tx[Handle] {
	s.Helper()
	tx, held, err := s.tx.Begin(ctx(), f, lease)
	if err != nil || !held {
		s.Fatalf("Begin(%v) = %v, %v; want it held", f.ID, held, err)
	}
	return tx
}

// effect is what a handler does. Its statements are written out, because
// placeholders differ between engines.
func (s *txSuite) effect(tx runtime.Tx[Handle], name string) {
	s.Helper()
	if err := tx.Handle().Exec(ctx(), "INSERT INTO ledgertest_effects (name) VALUES ('"+name+"')"); err != nil {
		s.Fatal(err)
	}
}

func (s *txSuite) completeIn(tx runtime.Tx[Handle], c runtime.Completion) {
	s.Helper()
	if stands, err := tx.Complete(ctx(), c); err != nil || !stands {
		s.Fatalf("Complete in a transaction = %v, %v; want it to stand", stands, err)
	}
}

func (s *txSuite) commit(tx runtime.Tx[Handle]) {
	s.Helper()
	if err := tx.Commit(ctx()); err != nil {
		s.Fatalf("Commit: %v", err)
	}
}

func (s *txSuite) rollback(tx runtime.Tx[Handle]) {
	s.Helper()
	if err := tx.Rollback(ctx()); err != nil {
		s.Fatalf("Rollback: %v", err)
	}
}

// wantEffects says how many effects are committed.
func (s *txSuite) wantEffects(want int) {
	s.Helper()
	s.wantEffectsOn(s.db, want)
}

func (s *txSuite) wantEffectsOn(db *sql.DB, want int) {
	s.Helper()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM ledgertest_effects").Scan(&n); err != nil || n != want {
		s.Fatalf("%d effects are committed, %v; want %d", n, err, want)
	}
}

// wantUsable says that no transaction was left open on a connection: whole
// requests succeed, more of them than a small pool has connections.
func (s *txSuite) wantUsable() {
	s.Helper()
	for _, k := range []string{"usable 1", "usable 2", "usable 3"} {
		c, f := s.pending(key(k))
		tx := s.begin(f)
		if err := tx.Handle().Exec(ctx(), "DELETE FROM ledgertest_effects WHERE name = 'usable'"); err != nil {
			s.Fatal(err)
		}
		s.effect(tx, "usable")
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}
	if _, err := s.db.Exec("DELETE FROM ledgertest_effects WHERE name = 'usable'"); err != nil {
		s.Fatal(err)
	}
}
