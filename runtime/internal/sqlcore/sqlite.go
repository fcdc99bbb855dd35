package sqlcore

import (
	"slices"
	"strings"
)

// SQLite has one text per result code (sqlite3_errstr), which its Go drivers
// all pass on, while they expose the code itself in different ways.
var SQLite = Engine{OneWriter: true, Prepared: true, Once: true, Class: func(err error) Class {
	switch {
	case says(err, "database is locked", "database table is locked", "database schema is locked", "locking protocol"):
		return Retry
	case says(err, "disk I/O error", "database or disk is full", "unable to open database file", "out of memory",
		"interrupted", "attempt to write a readonly database", "database is closed"):
		return Down
	}
	return Final
}}

func says(err error, texts ...string) bool {
	message := err.Error()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })
}
