package sqlcore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Engine is what the core must know of a database.
type Engine struct {
	// Class gives the class of an error of the database or its driver.
	Class func(error) Class
	// NoWait says that statements never wait for a row's lock, but fail as
	// Locked at once, so that waiting means to send them again.
	NoWait bool
	// LockWait is for how long statements that claim, and fail as Locked soon, are
	// sent again.
	LockWait time.Duration
	// OpenTx are settings that a handler's transaction makes for itself when
	// it is opened with a lease: statements that end with "; ". Nil makes none.
	OpenTx func(lease time.Duration) string
	// OneWriter says that a database has one writer at a time.
	OneWriter bool
	// Prepared says that statements are prepared once for each connection, and
	// kept: to parse them every time costs more than to run them.
	Prepared bool
	// Unprepared reports whether an error says that a statement could not be
	// prepared and would run as text. Nil: never.
	Unprepared func(error) bool
	// Once says that a claim may be made inside a handler's transaction.
	Once bool
	// Aborted reports whether an error of a COMMIT says that the database
	// rolled back instead, for the sake of another transaction. Nil: never.
	Aborted func(error) bool
}

// Class is what an error of a statement means for the next attempt.
type Class int

const (
	Final  Class = iota // the statement will fail again
	Retry               // it may succeed at once; it may have succeeded
	Locked              // another transaction holds the row
	Down                // the database, not the statement, is the reason
)

// class adds to the engine's own classes those of any engine.
func (e Engine) class(err error) Class {
	// The type, and not the interface net.Error: errors of databases that are
	// no network's have its methods too (ncruces/go-sqlite3).
	var network *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, sql.ErrConnDone):
		return Down
	case errors.Is(err, syscall.ECONNREFUSED):
		return Down // nobody listens: a request is better refused than held up
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.As(err, &network):
		return Retry
	}
	return e.Class(err)
}

// Passing reports whether a statement that failed may well succeed at once.
func (e Engine) Passing(err error) bool {
	if errors.Is(err, runtime.ErrUnavailable) {
		return false
	}
	class := e.class(err)
	return class == Retry || class == Locked && e.NoWait
}

// Unreachable reports whether the database may have ended a transaction by
// losing its connection, and not because somebody ended it.
func (e Engine) Unreachable(err error) bool {
	class := e.class(err)
	return class == Retry || class == Down
}

// SavepointError is the class of an error on the savepoint that opens a
// handler's transaction: nil for nil. The savepoint is gone when the
// transaction is, unless the database cannot be reached, which ends a
// transaction without anybody's doing, or one of its statements failed before.
func (e Engine) SavepointError(err error) error {
	var with interface{ SQLState() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &with) && with.SQLState() == "25P02":
		return fmt.Errorf("%w: %w", runtime.ErrTxFailed, err)
	case e.Unreachable(err):
		return e.Classify(err)
	}
	return fmt.Errorf("%w: %w", runtime.ErrTxEnded, err)
}

// Classify gives an error the class that the runtime acts on.
func (e Engine) Classify(err error) error {
	if err == nil || errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrRowLocked) || errors.Is(err, runtime.ErrTxEnded) || errors.Is(err, runtime.ErrTxFailed) {
		return err
	}
	switch e.class(err) {
	case Locked:
		return fmt.Errorf("%w: %w", runtime.ErrRowLocked, err)
	case Retry, Down:
		return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
	}
	return fmt.Errorf("idemgen: ledger: %w", err)
}

// ClassifyCommit is Classify for the error of a COMMIT.
func (e Engine) ClassifyCommit(err error) error {
	if err != nil && e.Aborted != nil && e.Aborted(err) {
		return fmt.Errorf("%w: %w", runtime.ErrTxConflict, err)
	}
	return e.Classify(err)
}

// Opening is what opens a handler's transaction: the engine's settings, then
// the savepoint of that name.
func (e Engine) Opening(savepoint string, lease time.Duration) string {
	return e.Settings(lease) + "SAVEPOINT " + savepoint
}

// Settings are the engine's settings for a handler's transaction.
func (e Engine) Settings(lease time.Duration) string {
	if e.OpenTx == nil {
		return ""
	}
	return e.OpenTx(lease)
}
