package sqlcore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Engine is what the core must know of a database.
type Engine struct {
	Name string
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
	// CloseTx follows a handler's last statement, on the end of the one that
	// releases its savepoint: statements that begin with "; ". It undoes what a
	// handler set for the transaction and what ours would suffer from.
	CloseTx string
	// OneWriter says that a database has one writer at a time.
	OneWriter bool
	// Prepared says that statements are prepared once for each connection, and
	// kept: to parse them every time costs more than to run them.
	Prepared bool
	// Pooled says that a pooler may give each transaction another session, so
	// that prepared statements get lost.
	Pooled bool
	// Once says that a claim may be made inside a handler's transaction.
	Once bool
	// SeenEarly says that a row can be seen before its commit is durable.
	SeenEarly bool
	// EndByText says that drivers give COMMIT and ROLLBACK no limit of time unless
	// they are sent as text.
	EndByText bool
}

// class adds to the engine's own classes those of any engine.
func (e Engine) class(err error) Class {
	var connect ConnectError
	if errors.As(err, &connect) {
		if e.classOf(connect.Err).again() {
			return Retry
		}
		return Down
	}
	return e.classOf(err)
}

// ConnectError is the error of a connection that could not be had, which is
// never final. It may carry the error of another database, which a hook of the
// pool has asked for a password, say: what that one refuses is not ours.
type ConnectError struct{ Err error }

// Error implements error.
func (e ConnectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e ConnectError) Unwrap() error { return e.Err }

func (e Engine) classOf(err error) Class {
	// The types, and not the interface net.Error: errors of databases that are
	// no network's have its methods too (ncruces/go-sqlite3).
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, sql.ErrConnDone):
		return Down
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &name), errors.As(err, &network) && network.Op == "dial":
		return Down // nobody is there: a request is better refused than held up
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), network != nil:
		return Retry
	}
	return e.Class(err)
}

// Is reports whether an error is of a class.
func (e Engine) Is(err error, class Class) bool { return err != nil && e.class(err) == class }

// MayConflict reports whether an error is of the kind that a transaction meets
// for the sake of another. Whose transaction it was is not in it.
func (e Engine) MayConflict(err error) bool {
	class := e.class(err)
	return class == Conflict || class == Locked
}

// Passing reports whether a statement that failed may well succeed at once.
func (e Engine) Passing(err error) bool {
	if errors.Is(err, runtime.ErrUnavailable) {
		return false
	}
	class := e.class(err)
	return class.again() || class == Locked && e.NoWait
}

// SavepointError is the class of an error on the savepoint that opens a
// handler's transaction: nil for nil. The savepoint is gone when the
// transaction is, unless the database cannot be reached, which ends a
// transaction without anybody's doing, or one of its statements failed before.
// An error that nobody knows may be the transaction's end.
func (e Engine) SavepointError(err error) error {
	if err == nil {
		return nil
	}
	switch e.class(err) {
	case Failed:
		return fmt.Errorf("%w: %w", runtime.ErrTxFailed, err)
	case Retry, Conflict, Down, Denied:
		return e.Classify(err)
	}
	return fmt.Errorf("%w: %w", runtime.ErrTxEnded, err)
}

// Classify gives an error the class that the runtime acts on.
func (e Engine) Classify(err error) error {
	if err == nil || classified(err) {
		return err
	}
	switch e.class(err) {
	case Locked:
		return fmt.Errorf("%w: %w", runtime.ErrRowLocked, err)
	case Refused:
		return fmt.Errorf("%w: %w", runtime.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
}

// classified reports whether an error has a class of the runtime already.
func classified(err error) bool {
	return slices.ContainsFunc([]error{
		runtime.ErrUnavailable, runtime.ErrRowLocked, runtime.ErrRefused, runtime.ErrTxEnded, runtime.ErrTxFailed,
	}, func(class error) bool { return errors.Is(err, class) })
}

// ClassifyCommit is Classify for the error of a COMMIT.
func (e Engine) ClassifyCommit(err error) error {
	if e.Is(err, Conflict) {
		return fmt.Errorf("%w: %w", runtime.ErrTxConflict, err)
	}
	return e.Classify(err)
}

// Opening is what opens a handler's transaction: the engine's settings, then
// the savepoint of that name.
func (e Engine) Opening(savepoint string, lease time.Duration) string {
	return e.Settings(lease) + "SAVEPOINT " + savepoint
}

// Closing is what ends a handler's part of its transaction.
func (e Engine) Closing(savepoint string) string { return "RELEASE SAVEPOINT " + savepoint + e.CloseTx }

// Settings are the engine's settings for a handler's transaction.
func (e Engine) Settings(lease time.Duration) string {
	if e.OpenTx == nil {
		return ""
	}
	return e.OpenTx(lease)
}
