package sqlcore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

// CanOnce implements [runtime.OnceLedger].
func (l *Core[DB]) CanOnce() bool { return l.Engine.Once }

// errNotOnce is the answer of databases on which a claim commits by itself.
var errNotOnce = errors.New("idemgen: this database cannot hold a claim inside a handler's transaction")

// gated is implemented by statements of engines on which writers of a key would
// wait for each other's transactions: a lock of the database on the key that is
// tried, and not waited for, comes before the claim.
type gated[DB any] interface {
	InsertOnce(context.Context, DB, InsertOnceParams) (InsertOnceRow, error)
}

// InsertOnceParams are a claim of an absent key inside a handler's transaction.
type InsertOnceParams struct {
	InsertParams
	Gate int64 // the number of the key's lock
}

// InsertOnceRow is Claimed, with a generation of 0 when a row holds the key;
// Free is false when another transaction is at work on it.
type InsertOnceRow struct {
	Free       bool
	Generation int64
	ClaimedAt  int64
	LeaseUntil int64
}

// InsertIn claims inside a transaction that was just begun. Its error is not
// classified.
func (l *Core[DB]) InsertIn(ctx context.Context, db DB, c runtime.Claim) (runtime.Claimed, bool, error) {
	if !l.Engine.Once {
		return runtime.Claimed{}, false, errNotOnce
	}
	claimed, err := l.insertIn(ctx, db, c)
	if errors.Is(err, sql.ErrNoRows) {
		return runtime.Claimed{}, false, nil
	}
	if err != nil {
		return runtime.Claimed{}, false, err
	}
	return claimedUnder(c.Terms, claimed), true, nil
}

func (l *Core[DB]) insertIn(ctx context.Context, db DB, c runtime.Claim) (Claimed, error) {
	s, ok := l.Statements.(gated[DB])
	if !ok {
		return l.Statements.Insert(ctx, db, insertParams(c))
	}
	row, err := s.InsertOnce(ctx, db, InsertOnceParams{InsertParams: insertParams(c), Gate: gate(c.ID)})
	switch {
	case err != nil:
		return Claimed{}, err
	case !row.Free:
		return Claimed{}, fmt.Errorf("%w: another transaction claims the key", runtime.ErrRowLocked)
	case row.Generation == 0:
		return Claimed{}, sql.ErrNoRows
	}
	return Claimed{Generation: row.Generation, ClaimedAt: row.ClaimedAt, LeaseUntil: row.LeaseUntil}, nil
}

// gate is the number of a key's lock, the same in every process: the first
// eight bytes of SHA-256 over the key's parts, each behind its length. Two keys
// that share one are refused as in progress while both are at work.
func gate(id runtime.ID) int64 {
	h := sha256.New()
	for _, part := range []string{id.Principal, id.Scope, id.Key} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}
