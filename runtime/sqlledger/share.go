package sqlledger

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// shareCommits lets writes of concurrent requests commit together. SQLite has
// one writer, so there is one commit at a time.
func (l *Ledger) shareCommits() {
	l.Shared = &sqlcore.Sharing[DBTX]{Commit: l.commitTogether, Writers: 1}
}

// commitTogether runs a batch in one transaction.
func (l *Ledger) commitTogether(ctx context.Context, batch []*sqlcore.Write[DBTX]) error {
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, w := range batch {
		if err := w.Run(ctx, tx); err != nil {
			tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}
