package mysql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A server that does not flush what it has acknowledged is refused, unless that is
// meant, and a table without transactions is refused always.
func TestWeakDurabilityIsRefused(t *testing.T) {
	name := create(t)
	db := open(t, server.DSN(name), 1)
	t.Cleanup(func() {
		if err := server.Run("SET GLOBAL innodb_flush_log_at_trx_commit = 1"); err != nil {
			t.Error(err)
		}
	})
	for setting, says := range map[string]string{"0": "trx_commit is 0", "2": "trx_commit is 2", "1": "", "3": ""} {
		if err := server.Run("SET GLOBAL innodb_flush_log_at_trx_commit = " + setting); err != nil {
			t.Fatal(err)
		}
		_, err := ledger.Open(t.Context(), db)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("with innodb_flush_log_at_trx_commit = %s Open says %v; want %q", setting, err, says)
		}
		if _, err := ledger.Open(t.Context(), db, sqlledger.WithWeakDurability()); err != nil {
			t.Errorf("with innodb_flush_log_at_trx_commit = %s, where it is meant: %v", setting, err)
		}
	}
	if _, err := db.Exec("ALTER TABLE idempotency_keys ENGINE = Aria"); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(t.Context(), db, sqlledger.WithWeakDurability()); err == nil || !strings.Contains(err.Error(), "needs InnoDB") {
		t.Errorf("Open of a table of another engine says %v", err)
	}
}

// A COMMIT that waits, here for a lock on the whole server, ends at the ledger's
// limit. Whether it stands is not known by then: nothing runs again, and a retry has
// the answer when the lock is gone.
func TestCommitThatDoesNotEnd(t *testing.T) {
	name := create(t)
	db := open(t, server.DSN(name), 2)
	l, err := ledger.Open(t.Context(), db, sqlledger.WithTimeLimit(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE orders (id INT)"); err != nil {
		t.Fatal(err)
	}
	g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
	locker, err := open(t, server.DSN(name), 1).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	runs := 0
	request := func(work func()) int {
		result, err := runtime.DoTx(t.Context(), g, l, rig.Call("k"), func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
			runs++
			_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (1)")
			work()
			return runtime.Answer{Status: 201, Body: []byte("made")}, err
		})
		return rig.Status(result, err)
	}
	answer := make(chan int, 1)
	go func() {
		answer <- request(func() {
			// Statements go on under it, commits do not.
			if _, err := locker.ExecContext(context.Background(), "BACKUP STAGE START"); err != nil {
				t.Error(err)
			}
			if _, err := locker.ExecContext(context.Background(), "BACKUP STAGE BLOCK_COMMIT"); err != nil {
				t.Error(err)
			}
		})
	}()
	select {
	case status := <-answer:
		if status != 503 {
			t.Errorf("a request whose COMMIT does not end got %d; want 503", status)
		}
	case <-time.After(time.Minute):
		t.Fatal("COMMIT has no limit of time")
	}
	if _, err := locker.ExecContext(t.Context(), "BACKUP STAGE END"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); request(func() {}) != 201; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a retry has no answer")
		}
	}
	var effects int
	if err := db.QueryRow("SELECT COUNT(*) FROM orders").Scan(&effects); err != nil || effects != 1 {
		t.Errorf("%d effects after %d runs, %v; want 1", effects, runs, err)
	}
}
