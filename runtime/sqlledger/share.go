package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

// commitTogether runs a batch in one transaction, on a connection that is closed
// when that does not end as it should. Some drivers hand back a connection whose
// COMMIT has failed as if nothing were open on it: what came next would be part of
// the old transaction, and be answered without ever being committed.
func (l *Ledger) commitTogether(ctx context.Context, writes *kept, batch []*sqlcore.Write[DBTX]) error {
	limited, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	writes.prepareMissed(limited)
	conn, err := l.db.Conn(limited)
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrNotSent, err)
	}
	tx, err := conn.BeginTx(limited, nil)
	if err != nil {
		giveBack(conn, err)
		return fmt.Errorf("%w: %w", runtime.ErrNotSent, err)
	}
	if err := runBatch(ctx, limited, writes.in(tx), batch); err != nil {
		giveBack(conn, tx.Rollback())
		return err
	}
	// A driver may wait for readers of the file for longer than the limit.
	committed := make(chan error, 1)
	go func() {
		err := tx.Commit()
		giveBack(conn, err)
		committed <- err
	}()
	select {
	case err := <-committed:
		return err
	case <-limited.Done():
		return limited.Err()
	}
}

func runBatch(ctx, limited context.Context, on DBTX, batch []*sqlcore.Write[DBTX]) error {
	// The first write waits for the file's lock, under the limit. The others
	// have it: they wait for nothing, and drivers start a goroutine for each
	// statement that may have to be interrupted.
	if err := batch[0].Run(limited, on); err != nil {
		return err
	}
	for _, w := range batch[1:] {
		if err := w.Run(ctx, on); err != nil {
			return err
		}
	}
	return nil
}

// giveBack gives a connection back to its pool. After an error of what ended its
// transaction its state is unknown, and it is closed instead.
func giveBack(conn *sql.Conn, err error) {
	if err != nil {
		conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	conn.Close()
}
