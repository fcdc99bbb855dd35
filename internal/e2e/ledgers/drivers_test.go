// Package ledgers_test runs the conformance suite on real databases.
package ledgers_test

import (
	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"
)
