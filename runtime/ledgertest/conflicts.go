package ledgertest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/idemgen/idemgen/runtime"
)

// stateError is an error of a PostgreSQL database, as its drivers have it.
type stateError string

func (e stateError) Error() string    { return "ERROR: something (SQLSTATE " + string(e) + ")" }
func (e stateError) SQLState() string { return string(e) }

// strangers are errors that another service or database has given a handler.
var strangers = map[string]error{
	"io.EOF":                    io.EOF,
	"io.ErrUnexpectedEOF":       fmt.Errorf("charge: %w", io.ErrUnexpectedEOF),
	"a reset connection":        fmt.Errorf("charge: %w", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}),
	"a refused connection":      &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
	"a name that is not found":  &net.DNSError{Err: "no such host", Name: "bank.example", IsNotFound: true},
	"a closed connection":       net.ErrClosed,
	"a bad connection":          driver.ErrBadConn,
	"a deadline":                context.DeadlineExceeded,
	"a serialization failure":   stateError("40001"),
	"a deadlock":                fmt.Errorf("stock: %w", stateError("40P01")),
	"a lock that was not free":  stateError("55P03"),
	"a lost prepared statement": stateError("42P05"),
	"a locked SQLite file":      errors.New("database is locked (5) (SQLITE_BUSY)"),
	"a conflict by name":        fmt.Errorf("charge: %w", runtime.ErrTxConflict),
}

// conflictCases say that a conflict is what happened to the transaction itself,
// whatever the handler's error looks like.
var conflictCases = []txCase{{"an error of somebody else is none", func(s *txSuite) {
	c, f := s.pending(key("k"))
	tx := s.begin(f)
	s.effect(tx, "one")
	teller := tx.(runtime.ConflictTeller)
	for name, err := range strangers {
		if teller.Conflict(ctx(), err) {
			s.Errorf("%s is taken for a conflict", name)
		}
	}
	// Being asked has cost the transaction nothing.
	s.completeIn(tx, completion(f, "answer"))
	s.commit(tx)
	s.wantEffects(1)
	s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
}}}
