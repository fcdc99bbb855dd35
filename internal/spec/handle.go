package spec

import (
	"go/types"
	"strings"
)

// handles are types that stand for something in the process and that no
// request carries, by import path.
var handles = map[string]string{
	"database/sql": "DB Conn Tx Stmt Rows Row",
	"context":      "Context",
	"net/http":     "ResponseWriter Request Response Client Server Handler HandlerFunc ServeMux",
	"io":           "Reader Writer ReadCloser WriteCloser ReadWriter ReadWriteCloser",
	"log":          "Logger",
	"log/slog":     "Logger Handler",
	"os":           "File",
	"net":          "Conn Listener",
	"testing":      "T B",
	runtimePath:    "Ledger Server Engine Guard Option",

	"github.com/jmoiron/sqlx": "DB Tx Conn Stmt NamedStmt",
	"gorm.io/gorm":            "DB",
	"github.com/uptrace/bun":  "DB Tx Conn IDB",
}

// handleOf says what a type is that stands for something in the process: a
// database, a transaction, an answer being written. It is "" for all others.
func handleOf(t types.Type) string {
	elem, _ := dereference(t)
	if again, pointer := dereference(elem); pointer {
		return handleOf(again)
	}
	if isOfPGX(elem) {
		return "a handle to a database"
	}
	if isQueries(elem) {
		return "a handle to a database, as sqlc makes it"
	}
	if isDBTX(elem) {
		return "an interface to a database, as sqlc's DBTX"
	}
	named, ok := types.Unalias(elem).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	path, name := named.Obj().Pkg().Path(), named.Obj().Name()
	for _, known := range strings.Fields(handles[path]) {
		if known != name {
			continue
		}
		if strings.Contains(path, "sql") || strings.Contains(path, "gorm") || strings.Contains(path, "bun") {
			return "a handle to a database"
		}
		return "a handle of the process"
	}
	return ""
}

// isQueries reports whether t is what sqlc makes: a struct named Queries whose
// package makes it of a DBTX, or which holds one.
func isQueries(t types.Type) bool {
	s, ok := structOf(t)
	if !ok || !isNamedQueries(t) {
		return false
	}
	pkg := types.Unalias(t).(*types.Named).Obj().Pkg()
	if constructor, ok := pkg.Scope().Lookup("New").(*types.Func); ok {
		for result := range constructor.Signature().Results().Variables() {
			if made, _ := dereference(result.Type()); types.Identical(made, t) {
				return true
			}
		}
	}
	for field := range s.Fields() {
		if isDBTX(field.Type()) {
			return true
		}
	}
	return false
}

// isDBTX reports whether t is an interface of nothing but methods that
// transactions have.
func isDBTX(t types.Type) bool {
	methods, ok := t.Underlying().(*types.Interface)
	if !ok || methods.NumMethods() == 0 {
		return false
	}
	for _, kind := range []TxKind{SQLTx, PGXTx} {
		if missingMethod(methods, kind) == "" {
			return true
		}
	}
	return false
}
