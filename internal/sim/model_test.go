package sim

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/ledgertest"
)

// direct is the model as a ledger of its own, without a scheduler.
type direct struct {
	mu    sync.Mutex
	table *table
	age   time.Duration
}

func (d *direct) do(ctx context.Context, statement func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	statement()
	return nil
}

func (d *direct) Insert(ctx context.Context, c runtime.Claim) (claimed runtime.Claimed, won bool, err error) {
	err = d.do(ctx, func() { claimed, won = d.table.insert(c) })
	return claimed, won, err
}

func (d *direct) Read(ctx context.Context, id runtime.ID) (row runtime.Row, found bool, err error) {
	err = d.do(ctx, func() { row, found = d.table.read(id) })
	return row, found, err
}

func (d *direct) TakeOver(ctx context.Context, seen runtime.Fence, c runtime.Claim) (claimed runtime.Claimed, won bool, err error) {
	err = d.do(ctx, func() { claimed, won = d.table.takeOver(seen, c) })
	return claimed, won, err
}

func (d *direct) Reuse(ctx context.Context, seen runtime.Fence, c runtime.Claim) (claimed runtime.Claimed, won bool, err error) {
	err = d.do(ctx, func() { claimed, won = d.table.reuse(seen, c) })
	return claimed, won, err
}

func (d *direct) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (claimed runtime.Claimed, held bool, err error) {
	err = d.do(ctx, func() { claimed, held = d.table.renew(f, terms) })
	return claimed, held, err
}

func (d *direct) Complete(ctx context.Context, c runtime.Completion) (stands bool, err error) {
	err = d.do(ctx, func() { stands, _ = d.table.complete(c) })
	return stands, err
}

func (d *direct) Release(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = d.do(ctx, func() { held = d.table.release(f) })
	return held, err
}

func (d *direct) EndLease(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = d.do(ctx, func() { held = d.table.endLease(f) })
	return held, err
}

func (d *direct) Sweep(ctx context.Context, limit int) (swept int, err error) {
	err = d.do(ctx, func() { swept = d.table.sweep(d.table.due(limit)) })
	return swept, err
}

// The model keeps the contract that every ledger keeps.
func TestModelConforms(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		d := &direct{}
		d.table = &table{rows: map[runtime.ID]*row{}, unseen: map[runtime.ID]*transaction{}, note: func(Event) {},
			clock: func() int64 { return epoch + d.age.Milliseconds() }}
		return ledgertest.Harness{Ledger: d, Age: func(age time.Duration) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.age += age
		}}
	})
}
