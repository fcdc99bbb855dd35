package vet

import "github.com/idemgen/idemgen/internal/spec"

// The categories of findings.
const (
	CategoryHeader      = "header"      // a header that the fingerprint does not see
	CategoryKey         = "key"         // the key header, read by hand
	CategoryBeside      = "beside"      // the database beside the transaction
	CategoryTransaction = "transaction" // a transaction ended by its handler
	CategoryOutgoing    = "outgoing"    // an unsafe request without a derived key
	CategoryContext     = "context"     // a dropped context
	CategoryFlush       = "flush"       // an answer that would stream
)

// Code is the stable code of a category, beside those of the generator.
func Code(category string) spec.Code { return "vet-" + category }

// Rules is the table of what the analyzer asks of handlers, a row for each
// category. The analyzer's documentation and the reference page of the errors
// are made from it.
func Rules() []spec.Rule {
	return []spec.Rule{
		{Code: Code(CategoryHeader), Text: "A standard handler reads no request header that is not in the fingerprint's allowlist: two requests that differ in it are one and the same to the ledger. Headers that may not join a fingerprint, such as User-Agent and Traceparent, are not reported."},
		{Code: Code(CategoryKey), Text: "The key header is not read by hand in a package with such handlers: runtime.Key gives the key that was checked and claimed."},
		{Code: Code(CategoryBeside), Text: "A handler with a transaction does not use a *sql.DB, *sql.Conn or *pgxpool.Pool beside it."},
		{Code: Code(CategoryTransaction), Text: "A handler with a transaction does not end it."},
		{Code: Code(CategoryOutgoing), Text: "An outgoing POST, PUT, PATCH or DELETE has a key from runtime.DerivedKey (or runtime.Key) at hand. Reported are http.Post and clients that are seen to have no transport of their own: others may have runtime.Transport."},
		{Code: Code(CategoryContext), Text: "A handler that has its context in scope does not hand on context.Background() or context.TODO(). Goroutines and deferred calls may do so."},
		{Code: Code(CategoryFlush), Text: "A standard handler does not flush its answer: it is held back until it is stored, and http.ResponseController says that flushing is not supported."},
	}
}
