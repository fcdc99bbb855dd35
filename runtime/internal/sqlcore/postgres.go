package sqlcore

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Postgres is PostgreSQL through any driver whose errors tell their SQLSTATE.
var Postgres = Engine{Class: postgresClass, OpenTx: idleLimit, Once: true, Aborted: postgresAborted, LockWait: time.Second}

// postgresAborted knows serialization failures and deadlocks, which leave
// nothing of a transaction.
func postgresAborted(err error) bool {
	var with interface{ SQLState() string }
	return errors.As(err, &with) && (with.SQLState() == "40001" || with.SQLState() == "40P01")
}

// idleLimit makes the server end a transaction that sits idle for longer than
// the lease, so that a paused or half-open owner frees its row. The setting
// ends with the transaction.
func idleLimit(lease time.Duration) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d; ", max(1, lease.Milliseconds()))
}

// postgresClass goes by SQLSTATE (PostgreSQL, appendix A).
func postgresClass(err error) Class {
	var with interface{ SQLState() string }
	if !errors.As(err, &with) {
		if says(err, "conn closed", "conn busy", "closed pool", "database is closed") {
			return Retry
		}
		return Final
	}
	switch state := with.SQLState(); {
	case state == "40001", state == "40P01": // serialization failure, deadlock
		return Retry
	case state == "55P03": // lock not available
		return Locked
	case strings.HasPrefix(state, "08"), // connection exceptions
		state == "25P03", state == "25P04", state == "57P05", // the session or its transaction timed out, and the connection with it
		state == "57P01", state == "57P02", state == "57P03", // shut down, crashed, starting
		state == "53300": // too many connections
		return Retry
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "58"), // resources, system errors
		state == "57014", state == "25006": // cancelled, read-only
		return Down
	}
	return Final
}
