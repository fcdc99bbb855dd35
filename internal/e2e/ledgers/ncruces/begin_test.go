package ncruces_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// This driver begins transactions as a writer's and waits a minute for the
// lock. The ledger's limit ends that wait, before the minute: the lock is held
// until Begin has returned, and Begin must not have got it.
func TestBeginKeepsItsLimit(t *testing.T) {
	file := "file:" + filepath.Join(t.TempDir(), "ledger.db")
	db := harness.Plain(t, "sqlite3", file, 0).Writer
	patient, err := plain.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	// The short limit is for the call that must run into it, and for no other.
	hurried, err := plain.Open(t.Context(), db, sqlledger.WithTimeLimit(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	c := runtime.Claim{ID: runtime.ID{Principal: "p", Key: "k"}, Terms: runtime.Terms{Lease: time.Hour, Retain: time.Hour}}
	claimed, won, err := patient.Insert(t.Context(), c)
	if err != nil || !won {
		t.Fatal(won, err)
	}
	f := runtime.Fence{ID: c.ID, Generation: claimed.Generation, Owner: c.Owner}
	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(10*time.Second, func() { _ = holder.Rollback() })
	_, held, err := hurried.Begin(t.Context(), f, time.Hour)
	if !stop.Stop() {
		t.Fatal("Begin waited for the lock, whatever the ledger's limit")
	}
	if held || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Begin reported %v, %v", held, err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	tx, held, err := patient.Begin(t.Context(), f, time.Hour)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}
