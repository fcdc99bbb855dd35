package pgxledger

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// checkSettings refuses a server that is too old or whose settings are weak.
func (l *Ledger) checkSettings(ctx context.Context, weak bool) error {
	var s sqlcore.PostgresSettings
	err := l.Retry(ctx, "settings", func(ctx context.Context, _ int) error {
		return l.Writer.QueryRow(ctx, sqlcore.PostgresSettingsQuery).
			Scan(&s.Version, &s.SynchronousCommit, &s.Fsync, &s.FullPageWrites, &s.Standbys)
	})
	if err != nil {
		return err
	}
	l.Doubted.Store(s.Replicated())
	return s.Check(weak)
}

// checkTable refuses a table that loses its rows in a crash.
func (l *Ledger) checkTable(ctx context.Context, weak bool) error {
	if weak {
		return nil
	}
	var unlogged int64
	err := l.Retry(ctx, "settings", func(ctx context.Context, _ int) error {
		return l.Writer.QueryRow(ctx, sqlcore.PostgresUnloggedQuery, l.Statements.Table()).Scan(&unlogged)
	})
	if err != nil {
		return err
	}
	return sqlcore.CheckUnlogged(l.Statements.Table(), unlogged)
}
