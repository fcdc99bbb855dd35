package spec

import (
	"fmt"
	"go/types"
	"strings"
)

// pgxPath is the import path of the version of pgx that ledgers work with.
const pgxPath = "github.com/jackc/pgx/v5"

// TxKind is a transaction that a ledger can give.
type TxKind string

const (
	SQLTx TxKind = "*sql.Tx"
	PGXTx TxKind = "pgx.Tx"
)

// txKindOf is what a ledger of a driver gives.
func txKindOf(driver string) TxKind {
	if driver == "pgx" {
		return PGXTx
	}
	return SQLTx
}

// Transaction is the transaction parameter of a method.
type Transaction struct {
	Kind TxKind // what the ledger gives
	// Type is that of the parameter: the transaction's, or a pointer to the
	// Queries of a package which makes it of the transaction with
	// New(DBTX) *Queries, as sqlc does.
	Type    types.Type
	Queries bool
}

// Named is the type that Queries points to.
func (t *Transaction) Named() *types.Named {
	elem, _ := dereference(t.Type)
	return types.Unalias(elem).(*types.Named)
}

// transactionOf says which transaction a parameter type is, or why it is none
// although it looks like one. Both are empty for other types.
func transactionOf(t types.Type, text string) (*Transaction, string) {
	elem, pointer := dereference(t)
	switch {
	case isPointerTo(t, "database/sql", "Tx"):
		return &Transaction{Kind: SQLTx, Type: t}, ""
	case isNamed(t, pgxPath, "Tx"):
		return &Transaction{Kind: PGXTx, Type: t}, ""
	case isNamed(elem, "database/sql", "Tx"), isNamed(elem, "database/sql", "DB"), isNamed(elem, "database/sql", "Conn"):
		return nil, text + " is not a transaction that the ledger can give: use *sql.Tx"
	case isOfPGX(elem):
		return nil, text + " is not a transaction that the ledger can give: use pgx.Tx of " + pgxPath
	case !pointer && isQueries(elem):
		return nil, text + " is not bound to a transaction: use *" + text
	case pointer && isNamedQueries(elem):
		kind, reason := boundTo(t)
		if reason != "" {
			return nil, text + " is not bound to a transaction: " + reason
		}
		return &Transaction{Kind: kind, Type: t, Queries: true}, ""
	}
	return nil, ""
}

// isOfPGX reports whether t is a handle of some version of pgx.
func isOfPGX(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	path := named.Obj().Pkg().Path()
	switch named.Obj().Name() {
	case "Tx", "Conn", "Pool":
		return path == "github.com/jackc/pgx" || strings.HasPrefix(path, "github.com/jackc/pgx/")
	}
	return false
}

// isNamedQueries reports whether t has the name that sqlc gives.
func isNamedQueries(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Queries" && named.Obj().Pkg() != nil
}

// boundTo finds what the package of a pointer to Queries makes it of.
func boundTo(t types.Type) (TxKind, string) {
	elem, _ := dereference(t)
	pkg := types.Unalias(elem).(*types.Named).Obj().Pkg()
	constructor, ok := pkg.Scope().Lookup("New").(*types.Func)
	if !ok {
		return "", fmt.Sprintf("package %s has no New(DBTX) *Queries", pkg.Name())
	}
	signature := constructor.Signature()
	if signature.Params().Len() != 1 || signature.Variadic() || signature.Results().Len() != 1 || signature.TypeParams().Len() > 0 ||
		!types.Identical(signature.Results().At(0).Type(), t) {
		return "", fmt.Sprintf("New of package %s is not New(DBTX) *Queries (sqlc makes that without emit_methods_with_db_argument)", pkg.Name())
	}
	dbtx, ok := signature.Params().At(0).Type().Underlying().(*types.Interface)
	if !ok {
		return "", fmt.Sprintf("New of package %s does not take an interface", pkg.Name())
	}
	reason := ""
	for _, kind := range []TxKind{SQLTx, PGXTx} {
		missing := missingMethod(dbtx, kind)
		if missing == "" {
			return kind, ""
		}
		if reason != "" {
			reason += ", and "
		}
		reason += fmt.Sprintf("%s has no %s", kind, missing)
	}
	return "", fmt.Sprintf("New of package %s takes what no ledger gives: %s", pkg.Name(), reason)
}

// txMethods are methods of the transactions that a DBTX may want, by signature.
// They stand here as text, because a package need not import what its DBTX is
// satisfied by.
var txMethods = map[TxKind]map[string]string{
	SQLTx: {
		"ExecContext":     "(context.Context, string, ...any) (database/sql.Result, error)",
		"PrepareContext":  "(context.Context, string) (*database/sql.Stmt, error)",
		"QueryContext":    "(context.Context, string, ...any) (*database/sql.Rows, error)",
		"QueryRowContext": "(context.Context, string, ...any) (*database/sql.Row)",
		"Exec":            "(string, ...any) (database/sql.Result, error)",
		"Prepare":         "(string) (*database/sql.Stmt, error)",
		"Query":           "(string, ...any) (*database/sql.Rows, error)",
		"QueryRow":        "(string, ...any) (*database/sql.Row)",
	},
	PGXTx: {
		"Exec":      "(context.Context, string, ...any) (" + pgxPath + "/pgconn.CommandTag, error)",
		"Query":     "(context.Context, string, ...any) (" + pgxPath + ".Rows, error)",
		"QueryRow":  "(context.Context, string, ...any) (" + pgxPath + ".Row)",
		"CopyFrom":  "(context.Context, " + pgxPath + ".Identifier, []string, " + pgxPath + ".CopyFromSource) (int64, error)",
		"SendBatch": "(context.Context, *" + pgxPath + ".Batch) (" + pgxPath + ".BatchResults)",
	},
}

// missingMethod is a method of an interface that a transaction lacks, or "".
func missingMethod(dbtx *types.Interface, kind TxKind) string {
	for method := range dbtx.Methods() {
		if txMethods[kind][method.Name()] != signatureText(method.Signature()) {
			return method.Name() + localSignature(method.Signature())
		}
	}
	return ""
}

// signatureText is a signature without the names of its parameters, and with
// import paths.
func signatureText(s *types.Signature) string {
	return parametersText(s.Params(), s.Variadic(), nil) + " " + parametersText(s.Results(), false, nil)
}

// localSignature is a signature for readers.
func localSignature(s *types.Signature) string {
	return parametersText(s.Params(), s.Variadic(), (*types.Package).Name)
}

// resultsText is the results of a signature, as they stand behind it.
func resultsText(s *types.Signature) string {
	switch s.Results().Len() {
	case 0:
		return ""
	case 1:
		return " " + strings.Trim(parametersText(s.Results(), false, (*types.Package).Name), "()")
	default:
		return " " + parametersText(s.Results(), false, (*types.Package).Name)
	}
}

func parametersText(list *types.Tuple, variadic bool, qualifier types.Qualifier) string {
	var texts []string
	for i := range list.Len() {
		t, prefix := list.At(i).Type(), ""
		if variadic && i == list.Len()-1 {
			t, prefix = t.(*types.Slice).Elem(), "..."
		}
		texts = append(texts, prefix+strings.ReplaceAll(types.TypeString(types.Unalias(t), qualifier), "interface{}", "any"))
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
