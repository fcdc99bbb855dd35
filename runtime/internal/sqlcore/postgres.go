package sqlcore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Postgres is PostgreSQL through any driver whose errors tell their SQLSTATE.
var Postgres = Engine{Name: "postgres", SeenEarly: true, Class: postgresClass, OpenTx: openPostgres, CloseTx: asItBegan, Pooled: true, Once: true, LockWait: 2 * time.Second}

// openPostgres makes the server end a transaction that sits idle for longer than
// the lease, so that a paused or half-open owner frees its row, and notes where
// and as whom it began. The settings end with the transaction.
func openPostgres(lease time.Duration) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d; ", max(1, lease.Milliseconds())) +
		"SELECT pg_catalog.set_config('idemgen.role', pg_catalog.current_setting('role'), true), " +
		"pg_catalog.set_config('idemgen.search_path', pg_catalog.current_setting('search_path'), true); "
}

// asItBegan gives a transaction back the role and the search path that it began
// with: handlers change them, one tenant a transaction, and our last statement
// is meant for our own table. A handler that resets everything has forgotten
// what was noted, and has what the session began with.
const asItBegan = "; SELECT " +
	"pg_catalog.set_config('role', coalesce(nullif(pg_catalog.current_setting('idemgen.role', true), ''), pg_catalog.current_setting('role')), true), " +
	"pg_catalog.set_config('search_path', coalesce(nullif(pg_catalog.current_setting('idemgen.search_path', true), ''), pg_catalog.current_setting('search_path')), true)"

// postgresClass goes by SQLSTATE (PostgreSQL, appendix A).
func postgresClass(err error) Class {
	var with interface{ SQLState() string }
	if errors.As(err, &with) {
		return decideState(with.SQLState()).class
	}
	if says(err, "conn closed", "conn busy", "closed pool", "database is closed") {
		return Retry
	}
	return Unknown
}

func says(err error, texts ...string) bool {
	message := err.Error()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })
}
