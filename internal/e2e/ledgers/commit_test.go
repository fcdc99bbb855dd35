package ledgers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// leaky hands back connections whose COMMIT has failed with the transaction open
// on them, as modernc.org/sqlite did up to 1.45.0.
type leaky struct{ onConnect }

func (c leaky) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.onConnect.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return leakyConn{conn.(moderncConn)}, nil
}

type leakyConn struct{ moderncConn }

func (c leakyConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "BEGIN", nil)
	return leakyTx(c), err
}

type leakyTx leakyConn

func (t leakyTx) Commit() error {
	_, err := t.ExecContext(context.Background(), "COMMIT", nil)
	return err
}

func (t leakyTx) Rollback() error {
	_, err := t.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}

// A COMMIT that fails leaves a transaction open, in which later claims and answers
// would be made and never be committed: with a rollback journal any reader makes
// it fail. Nothing is won, stored or begun there while somebody reads the file.
func TestFailedCommitSwallowsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	dsn := "file:" + file + "?_pragma=busy_timeout(20)&_pragma=journal_mode(delete)&_pragma=synchronous(extra)"
	plainDB, err := sql.Open(modernc, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer plainDB.Close()
	db := sql.OpenDB(leaky{onConnect{plainDB.Driver(), dsn, nil}})
	defer db.Close()
	db.SetMaxOpenConns(1)
	l, err := plain.Open(t.Context(), db, sqlledger.WithTimeLimit(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	held := make([]runtime.Fence, 8)
	for i := range held {
		held[i] = rig.Insert(t, l, fmt.Sprint("held", i))
	}
	reading, err := plainDB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reading.QueryRow("SELECT count(*) FROM idempotency_keys").Scan(&n); err != nil {
		t.Fatal(err)
	}
	var attempts sync.WaitGroup
	for i := range 8 {
		attempts.Go(func() {
			if _, won, err := l.Insert(context.Background(), rig.NewClaim(fmt.Sprint("k", i))); won || !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("Insert beside a reader = %v, %v; want ErrUnavailable", won, err)
			}
		})
		attempts.Go(func() {
			if stands, err := l.Complete(context.Background(), rig.Completion(held[i], []byte("ok"))); stands || !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("Complete beside a reader = %v, %v; want ErrUnavailable", stands, err)
			}
		})
	}
	attempts.Wait()
	tx, begun, err := l.Begin(t.Context(), held[0], time.Hour)
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	if stands, err := tx.Complete(t.Context(), rig.Completion(held[0], []byte("ok"))); err != nil || !stands {
		t.Fatal(stands, err)
	}
	if err := tx.Commit(t.Context()); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Commit beside a reader = %v; want ErrUnavailable", err)
	}
	if row := rig.Read(t, l, held[0].Key); row.Completed {
		t.Error("the ledger reads an answer that was not committed")
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	rig.Insert(t, l, "after")
	if err := plainDB.QueryRow("SELECT count(*) FROM idempotency_keys").Scan(&n); err != nil || n != len(held)+1 {
		t.Errorf("%d rows are committed, %v; want %d", n, err, len(held)+1)
	}
}
