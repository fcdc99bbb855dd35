package vet

import (
	"go/ast"
	"strings"
)

// beside names the types that reach the database without the handler's
// transaction, by the full name of a pointer to them.
var beside = map[string]string{
	"(*database/sql.DB)":                      "*sql.DB",
	"(*database/sql.Conn)":                    "*sql.Conn",
	"(*github.com/jackc/pgx/v5/pgxpool.Pool)": "*pgxpool.Pool",
	"(*github.com/jackc/pgx/v5/pgxpool.Conn)": "*pgxpool.Conn",
}

// statements are the methods that send something to the database.
var statements = map[string]bool{
	"Exec": true, "ExecContext": true, "Query": true, "QueryContext": true, "QueryRow": true, "QueryRowContext": true,
	"Prepare": true, "PrepareContext": true, "Begin": true, "BeginTx": true, "BeginFunc": true, "BeginTxFunc": true,
	"CopyFrom": true, "SendBatch": true, "Conn": true, "Acquire": true, "AcquireFunc": true,
}

// transaction reports what a handler with a transaction does beside it, and
// where it ends it.
func (p *pkg) transaction(h handler, r *reached, f *function) {
	walk(f.decl.Body, func(n ast.Node, _ bool) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		receiver, method, ok := strings.Cut(p.callee(call), ").")
		if ok && beside[receiver+")"] != "" && statements[method] {
			p.report(call, CategoryBeside, "%s has a transaction, but calls %s of a %s beside it: that is not rolled back with it and may happen twice", h.through(f), method, beside[receiver+")"])
			return
		}
		selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || r.kind(selector.X)&transaction == 0 {
			return
		}
		switch name := selector.Sel.Name; {
		case name == "Commit" || name == "Rollback":
			p.report(call, CategoryTransaction, "%s ends its transaction with %s: the ledger ends it, so that effect and answer commit together; return an error to roll back", h.through(f), name)
		case statements[name]:
			for _, argument := range call.Args {
				if text := p.constant(argument); text != "" {
					if ends := endsTransaction(text); ends != "" {
						p.report(call, CategoryTransaction, "%s ends its transaction with %s: the ledger ends it, so that effect and answer commit together; return an error to roll back", h.through(f), ends)
					}
					return
				}
			}
		}
	})
}

// endsTransaction is the word with which a statement ends a transaction, or
// "". Going back to a savepoint ends none.
func endsTransaction(statement string) string {
	words := strings.Fields(strings.ToUpper(strings.ReplaceAll(statement, ";", " ")))
	if len(words) == 0 {
		return ""
	}
	switch words[0] {
	case "COMMIT", "END", "ABORT":
		return words[0]
	case "ROLLBACK":
		for _, word := range words[1:] {
			if word == "TO" {
				return ""
			}
		}
		return words[0]
	}
	return ""
}
