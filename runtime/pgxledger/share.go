package pgxledger

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// sharingWriters is how many commits of batches run beside each other: while
// one waits for the disk, another is made up.
const sharingWriters = 2

func (l *Ledger) shareCommits() {
	l.Shared = &sqlcore.Sharing[DBTX]{Commit: l.commitTogether, Writers: sharingWriters}
}

// errLearned sends writes on their own ways where prepared statements get lost.
var errLearned = errors.New("idemgen: a pooler loses prepared statements")

// commitTogether runs a batch in one round trip, which is one transaction. Each
// write is run twice: first on what writes its statement down, then on what
// gives the answer to it. The answers come before the commit is durable, which
// is when Close returns.
func (l *Ledger) commitTogether(ctx context.Context, batch []*sqlcore.Write[DBTX]) error {
	if l.learned.Load() {
		return errLearned
	}
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	asked := &pgx.Batch{}
	for _, w := range batch {
		if err := w.Run(ctx, asking{asked}); !errors.Is(err, errAsked) {
			return err
		}
	}
	results := l.pool.SendBatch(ctx, asked)
	for _, w := range batch {
		if err := w.Run(ctx, answering{results}); err != nil {
			results.Close()
			return err
		}
	}
	return results.Close()
}

// errAsked says that a statement was only written down.
var errAsked = errors.New("idemgen: the statement was not run yet")

// asking writes statements down.
type asking struct{ batch *pgx.Batch }

func (a asking) Exec(_ context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	a.batch.Queue(query, args...)
	return pgconn.CommandTag{}, errAsked
}

func (a asking) QueryRow(_ context.Context, query string, args ...any) pgx.Row {
	a.batch.Queue(query, args...)
	return askedRow{}
}

func (a asking) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errors.New("idemgen: statements of several rows do not share commits")
}

type askedRow struct{}

func (askedRow) Scan(...any) error { return errAsked }

// answering gives the answers to what was asked, in the same order.
type answering struct{ results pgx.BatchResults }

func (a answering) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.results.Exec()
}

func (a answering) QueryRow(context.Context, string, ...any) pgx.Row { return a.results.QueryRow() }

func (a answering) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return a.results.Query()
}
