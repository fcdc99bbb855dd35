package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

const (
	maxAttempts = 20
	minPause    = time.Millisecond
	maxPause    = 200 * time.Millisecond
)

// retry runs a statement under the ledger's time limit, again after errors
// that pass. attempt counts from 1. Its error is classified.
func (l *Ledger) retry(ctx context.Context, name string, statement func(ctx context.Context, attempt int) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := statement(ctx, attempt)
		if err == nil || !passing(err) || ctx.Err() != nil || attempt == maxAttempts {
			return classify(err)
		}
		l.notify(ctx, name, err)
		ceiling := min(maxPause, minPause<<min(attempt, 8))
		select {
		case <-time.After(minPause + rand.N(ceiling)):
		case <-ctx.Done():
			return classify(err)
		}
	}
}

func (l *Ledger) notify(ctx context.Context, name string, err error) {
	l.mu.Lock()
	observers := slices.Clone(l.onRetry)
	l.mu.Unlock()
	for _, f := range observers {
		f(ctx, name, err)
	}
}

// classify gives an error the class that the runtime acts on.
func classify(err error) error {
	if err == nil || errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrRowLocked) || errors.Is(err, runtime.ErrTxEnded) {
		return err
	}
	if passing(err) || unavailable(err) {
		return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
	}
	return fmt.Errorf("idemgen: ledger: %w", err)
}

// passing reports whether a statement that failed may well succeed at once.
func passing(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || says(err, sqliteBusy)
}

// unavailable reports whether the database, and not the statement, is the
// reason of a failure.
func unavailable(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, sql.ErrConnDone) || says(err, sqliteDown)
}

// SQLite has one text per result code (sqlite3_errstr), which its Go drivers
// all pass on, while they expose the code itself in different ways.
var (
	sqliteBusy = []string{"database is locked", "database table is locked", "database schema is locked", "locking protocol"}
	sqliteDown = []string{
		"disk I/O error", "database or disk is full", "unable to open database file", "out of memory",
		"interrupted", "attempt to write a readonly database", "database is closed",
	}
)

func says(err error, texts []string) bool {
	message := err.Error()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })
}
