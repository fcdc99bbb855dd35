package sqlledger

import (
	"context"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// shareCommits lets writes of concurrent requests commit together. SQLite has
// one writer, so there is one commit at a time.
func (l *Ledger) shareCommits(writes *kept) {
	l.Shared = &sqlcore.Sharing[DBTX]{Writers: 1, Commit: func(ctx context.Context, batch []*sqlcore.Write[DBTX]) error {
		return l.commitTogether(ctx, writes, batch)
	}}
}

// commitTogether runs a batch in one transaction.
func (l *Ledger) commitTogether(ctx context.Context, writes *kept, batch []*sqlcore.Write[DBTX]) error {
	limited, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	writes.prepareMissed(limited)
	tx, err := l.db.BeginTx(limited, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrNotSent, err)
	}
	on := writes.in(tx)
	// The first write waits for the file's lock, under the limit. The others
	// have it: they wait for nothing, and drivers start a goroutine for each
	// statement that may have to be interrupted.
	if err := batch[0].Run(limited, on); err != nil {
		tx.Rollback()
		return err
	}
	for _, w := range batch[1:] {
		if err := w.Run(ctx, on); err != nil {
			tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}
