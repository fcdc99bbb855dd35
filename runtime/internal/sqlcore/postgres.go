package sqlcore

import (
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"
)

// Postgres is PostgreSQL through any driver whose errors tell their SQLSTATE.
var Postgres = Engine{Class: postgresClass, Principal: postgresText}

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
		state == "57P01", state == "57P02", state == "57P03", // shut down, crashed, starting
		state == "53300": // too many connections
		return Retry
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "58"), // resources, system errors
		state == "57014", state == "25006": // cancelled, read-only
		return Down
	}
	return Final
}

// postgresText is the form of a principal in a text column, which holds no NUL
// and no invalid UTF-8: such principals are written in hex behind a prefix,
// and so are those that begin with the prefix, so that no two are one.
func postgresText(principal string) string {
	const prefix = "hex:"
	if utf8.ValidString(principal) && !strings.Contains(principal, "\x00") && !strings.HasPrefix(principal, prefix) {
		return principal
	}
	return prefix + hex.EncodeToString([]byte(principal))
}
