package sqlcore

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// appendixA are the classes of SQLSTATE in PostgreSQL's appendix A.
var appendixA = []string{
	"00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21", "22", "23", "24", "25", "26", "27",
	"28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "40", "42", "44", "53", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX",
}

func TestEverySQLSTATEIsDecidedOnce(t *testing.T) {
	for _, class := range appendixA {
		if decideState(class+"ZZZ").prefix != class {
			t.Errorf("class %s is not decided", class)
		}
	}
	seen := map[string]bool{}
	for _, s := range sqlstates {
		if seen[s.prefix] || s.why == "" || len(s.prefix) != 2 && len(s.prefix) != 5 {
			t.Errorf("%q: twice, without a reason, or neither a class nor a code", s.prefix)
		}
		seen[s.prefix] = true
	}
}

func TestEveryMySQLNumberIsDecidedOnce(t *testing.T) {
	seen := map[uint16]bool{}
	for _, c := range mysqlCodes {
		for _, n := range c.numbers {
			if seen[n] || c.why == "" || c.class == Unknown {
				t.Errorf("%d: twice, without a reason, or not decided", n)
			}
			seen[n] = true
		}
	}
}

// sqlState is an error with a SQLSTATE.
type sqlState string

func (s sqlState) Error() string    { return "ERROR (SQLSTATE " + string(s) + ")" }
func (s sqlState) SQLState() string { return string(s) }

// An account that may not log in, a database that is not there or takes nobody
// in, a name that cannot be resolved, and whatever a hook of the pool says, are
// mended while the process runs.
func TestErrorsOfConnectingAreNeverFinal(t *testing.T) {
	mysql := func(number uint16) error {
		return MySQL(func(error) uint16 { return number }).Classify(errors.New("server"))
	}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	lookup := &net.DNSError{Err: "no such host", Name: "db", IsNotFound: true}
	for name, err := range map[string]error{
		"no login":             Postgres.Classify(sqlState("28000")),
		"wrong password":       Postgres.Classify(sqlState("28P01")),
		"no connections":       Postgres.Classify(sqlState("55000")),
		"renamed":              Postgres.Classify(sqlState("3D000")),
		"pooler":               Postgres.Classify(sqlState("08P01")),
		"a hook of the pool":   Postgres.Classify(errors.New("a token could not be had")),
		"no such host":         Postgres.Classify(fmt.Errorf("hostname resolving error: %w", lookup)),
		"no such host, dialed": Postgres.Classify(dial(lookup)),
		"dialed for too long":  SQLite.Classify(dial(os.ErrDeadlineExceeded)),
		"account locked":       mysql(4151),
		"access denied":        mysql(1045),
		"no such grant":        mysql(1044),
		"no such database":     mysql(1049),
		"unheard of":           mysql(65000),
		"no number":            mysql(0),
	} {
		if !errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrRefused) {
			t.Errorf("%s: %v; want ErrUnavailable", name, err)
		}
	}
	for _, err := range []error{dial(lookup), dial(os.ErrDeadlineExceeded)} {
		if Postgres.Passing(err) {
			t.Errorf("%v: a request is held up for a server that is not there", err)
		}
	}
}

func TestOnlyTheBytesThemselvesAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"a CHECK, PostgreSQL": Postgres.Classify(sqlState("23514")),
		"an encoding":         Postgres.Classify(sqlState("22021")),
		"a trigger":           Postgres.Classify(sqlState("P0001")),
		"a CHECK, MySQL":      MySQL(func(error) uint16 { return 3819 }).Classify(errors.New("server")),
		"a CHECK, MariaDB":    MySQL(func(error) uint16 { return 4025 }).Classify(errors.New("server")),
		"a packet":            MySQL(func(error) uint16 { return 2020 }).Classify(errors.New("client")),
		"a CHECK, SQLite":     SQLite.Classify(errors.New("CHECK constraint failed: database is locked")),
	} {
		if !errors.Is(err, runtime.ErrRefused) || errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("%s: %v; want ErrRefused", name, err)
		}
	}
}

// What nobody knows of may be a transaction's end, and what is known to break
// connections is none of somebody's doing.
func TestSavepointErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{sqlState("3B001"), runtime.ErrTxEnded},
		{sqlState("25P01"), runtime.ErrTxEnded},
		{sqlState("25P02"), runtime.ErrTxFailed},
		{sqlState("57P01"), runtime.ErrUnavailable},
		{errors.New("unheard of"), runtime.ErrTxEnded},
		{errors.New("sql: transaction has already been committed or rolled back"), runtime.ErrTxEnded},
	} {
		if err := Postgres.SavepointError(c.err); !errors.Is(err, c.want) {
			t.Errorf("%v: %v; want %v", c.err, err, c.want)
		}
	}
	if err := SQLite.SavepointError(errors.New("no such savepoint: idemgen_handler")); !errors.Is(err, runtime.ErrTxEnded) {
		t.Error(err)
	}
	if err := MySQL(func(error) uint16 { return 1305 }).SavepointError(errors.New("server")); !errors.Is(err, runtime.ErrTxEnded) {
		t.Error(err)
	}
}
