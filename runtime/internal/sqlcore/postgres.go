package sqlcore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Postgres is PostgreSQL through any driver whose errors tell their SQLSTATE.
var Postgres = Engine{Name: "postgres", SeenEarly: true, Class: postgresClass, OpenTx: idleLimit, Once: true, LockWait: time.Second}

// idleLimit makes the server end a transaction that sits idle for longer than
// the lease, so that a paused or half-open owner frees its row. The setting
// ends with the transaction.
func idleLimit(lease time.Duration) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d; ", max(1, lease.Milliseconds()))
}

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
