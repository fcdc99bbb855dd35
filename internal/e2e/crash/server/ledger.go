package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// ledger is a ledger whose steps are points of a fate.
type ledger struct {
	*sqlledger.Ledger
	fate *fate
}

func (l *ledger) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	claimed, won, err := l.Ledger.Insert(ctx, c)
	l.fate.reach("after the claim")
	return claimed, won, err
}

func (l *ledger) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	stop := l.fate.soon()
	stands, err := l.Ledger.Complete(ctx, c)
	stop()
	l.fate.reach("after the completion")
	return stands, err
}

func (l *ledger) Begin(ctx context.Context, f runtime.Fence, lease time.Duration) (runtime.Tx[*sql.Tx], bool, error) {
	begun, held, err := l.Ledger.Begin(ctx, f, lease)
	if !held || err != nil {
		return begun, held, err
	}
	return &tx{begun, l.fate}, true, nil
}

func (l *ledger) BeginOnce(ctx context.Context, c runtime.Claim) (runtime.OnceTx[*sql.Tx], runtime.Claimed, bool, error) {
	begun, claimed, won, err := l.Ledger.BeginOnce(ctx, c)
	if !won || err != nil {
		return begun, claimed, won, err
	}
	l.fate.reach("after the claim")
	return &onceTx{tx{begun, l.fate}, begun}, claimed, true, nil
}

// tx is a transaction whose end is a point of a fate.
type tx struct {
	runtime.Tx[*sql.Tx]
	fate *fate
}

func (t *tx) Commit(ctx context.Context) error {
	stop := t.fate.soon()
	err := t.Tx.Commit(ctx)
	stop()
	t.fate.reach("after the completion")
	return err
}

type onceTx struct {
	tx
	once runtime.OnceTx[*sql.Tx]
}

func (t *onceTx) Undo(ctx context.Context) error { return t.once.Undo(ctx) }

// soon sends the signal a moment after a commit was begun, unless that has
// ended.
func (f *fate) soon() (stop func()) {
	if f.point != "during the commit" {
		return func() {}
	}
	timer := time.AfterFunc(f.delay, f.send)
	return func() { timer.Stop() }
}
