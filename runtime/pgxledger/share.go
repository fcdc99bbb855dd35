package pgxledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime"
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

// commitTogether sends a batch in one go, which is one transaction. The answers
// come before the commit is durable, which is when Close returns.
func (l *Ledger) commitTogether(ctx context.Context, batch []*sqlcore.Write[DBTX]) error {
	if l.lost.Lately() {
		return errLearned
	}
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	asked := asking{&pgx.Batch{}}
	_, err := l.together.Together(ctx, asked)
	for _, w := range batch {
		if w.Insert != nil {
			_, err = l.together.InsertTogether(ctx, asked, *w.Insert)
		} else {
			_, err = l.together.CompleteTogether(ctx, asked, *w.Complete)
		}
	}
	if !errors.Is(err, errAsked) {
		return err
	}
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrNotSent, sqlcore.ConnectError{Err: err})
	}
	defer conn.Release()
	results := conn.SendBatch(ctx, asked.batch)
	now, err := l.together.Together(ctx, answering{results})
	for _, w := range batch {
		if err != nil {
			break
		}
		var tag pgconn.CommandTag
		tag, err = results.Exec()
		w.Rows, w.Now = tag.RowsAffected(), now
	}
	err = cmp.Or(results.Close(), err)
	l.lost.Learn(ctx, l.Engine, err)
	return err
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
	return nil, errors.New("idemgen: no statement of a batch returns several rows")
}

type askedRow struct{}

func (askedRow) Scan(...any) error { return errAsked }

// answering gives the answer to the next statement that was asked.
type answering struct{ pgx.BatchResults }

func (a answering) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.BatchResults.Exec()
}

func (a answering) QueryRow(context.Context, string, ...any) pgx.Row {
	return a.BatchResults.QueryRow()
}

func (a answering) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return a.BatchResults.Query()
}
