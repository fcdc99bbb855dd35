package spec

import (
	"go/token"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// The grammar of the directives is the struct below and the structs of its
// fields: one field is one directive, and one field of that is one argument.
// Parsing and help texts both read the tags, so they cannot disagree.
//
// Tags of a directive:
//
//	directive  its name after "idem:"
//	on         interface, method or both
//	bare       true, when it means something without arguments
//	help       what it means
//
// Tags of an argument:
//
//	arg       "key=" for key=value; "a|b" for a positional word of a choice; "WORD" for a
//	          positional word; "words..." for all remaining positional words
//	value     stands for the value in help texts, where there is no choice
//	one       the values that there are, separated by spaces
//	form      header: the value, or each item of the list, is a header name
//	begins    how the value begins, by which a word is known that stands in another's place
//	required  true, when it must be given
//	default   what holds without it, as text for readers
//	help      what it means
//
// The Go type of the value says how its text reads: int is a count, int64 a
// size in bytes, []Item a list.

// arguments are the directives of one interface or one method.
type arguments struct {
	API         apiArguments         `directive:"api" on:"interface" bare:"true" help:"Marks the interface: its methods are endpoints."`
	Ledger      ledgerArguments      `directive:"ledger" on:"interface" bare:"true" help:"Emits a ledger package. Without it none is emitted, and the server takes any runtime.Ledger."`
	Endpoint    endpointArguments    `directive:"endpoint" on:"method" help:"Makes the method an endpoint; exactly one."`
	Key         keyArguments         `directive:"key" on:"both" help:"The contract for the key."`
	Fingerprint fingerprintArguments `directive:"fingerprint" on:"both" help:"What makes two requests the same request, beside method, path, query and body."`
	Request     requestArguments     `directive:"request" on:"both" help:"What a request may be."`
	Response    responseArguments    `directive:"response" on:"both" help:"What a replay can rebuild."`
	Lease       leaseArguments       `directive:"lease" on:"both" help:"How long a pending claim holds its key before another request may take it over."`
	Retain      retainArguments      `directive:"retain" on:"both" help:"How long an answer is replayed: the promise to clients."`
	Scope       scopeArguments       `directive:"scope" on:"both" help:"Whose key space a key lives in."`
	On          onArguments          `directive:"on" on:"both" help:"Answers to reuse, and what happens to the claim when the handler fails."`
	Commit      commitArguments      `directive:"commit" on:"method" help:"How a method with a transaction commits."`

	// at is where each directive stands.
	at map[string]token.Position
	// broken names the directives, such as lease, and the single arguments,
	// such as lease.Timeout, in which a problem was found: what follows from
	// their values is not checked. An argument is named as its field is.
	broken map[string]bool
}

// isBroken reports whether an argument, or the directive that it belongs to,
// could not be read, so that its value is not what the user meant.
func (a *arguments) isBroken(argument string) bool {
	directive, _, _ := strings.Cut(argument, ".")
	return a.broken[argument] || a.broken[directive]
}

// Value is one argument.
type Value[T any] struct {
	V   T
	Pos token.Position // invalid when the argument is not given
}

// given reports whether the argument stands in the source.
func (v Value[T]) given() bool { return v.Pos.IsValid() }

// Item is one item of a list.
type Item struct {
	Text string
	Pos  token.Position
}

type apiArguments struct {
	Prefix  Value[string]            `arg:"prefix=" value:"/PATH" default:"none" help:"path in front of every pattern, such as /v1"`
	Profile Value[string]            `arg:"profile=" one:"default d1 stripe ietf" default:"default" help:"set of defaults"`
	Errors  Value[runtime.ErrorForm] `arg:"errors=" one:"problem json" default:"problem" help:"form of error answers: RFC 9457 problem+json, or {error,message}"`
	Others  Value[string]            `arg:"others=" one:"refuse skip" default:"refuse" help:"methods without idem:endpoint: an error, or passed over"`
}

type ledgerArguments struct {
	Engine Value[[]Item] `arg:"engine=" one:"sqlite postgres mysql" default:"sqlite" help:"one or more engines"`
	Driver Value[string] `arg:"driver=" one:"sql pgx" default:"sql" help:"database/sql, or pgx for postgres alone"`
	Dir    Value[string] `arg:"dir=" value:"DIR" default:"ledger" help:"folder of the ledger package, relative to this package; a folder per engine in it when there are several"`
	Table  Value[string] `arg:"table=" value:"TABLE" default:"idempotency_keys" help:"table, or schema.table; at most 40 characters"`
}

type endpointArguments struct {
	Method  Value[string] `arg:"METHOD" required:"true" help:"unsafe HTTP method"`
	Pattern Value[string] `arg:"/pattern" begins:"/" required:"true" help:"http.ServeMux pattern without host"`
	Status  Value[[]Item] `arg:"status=" value:"STATUS,..." default:"200, or 204 without a result" help:"status of a success; several where the result says which by HTTPStatus() int"`
	Name    Value[string] `arg:"name=" value:"NAME" default:"METHOD /prefix/pattern without the names of wildcards" help:"the operation's identity in the ledger: POST /v1/orders/{}/cancel"`
}

type keyArguments struct {
	Presence Value[string]            `arg:"required|optional" one:"required optional" default:"required" help:"whether a request must carry a key; without one it runs plainly"`
	Header   Value[string]            `arg:"header=" value:"HEADER" form:"header" default:"Idempotency-Key" help:"request header that carries the key"`
	Syntax   Value[runtime.KeySyntax] `arg:"syntax=" one:"raw sf" default:"raw" help:"the header's value as it is, or an RFC 8941 string"`
	Max      Value[int]               `arg:"max=" value:"BYTES" default:"255" help:"longest key in bytes"`
}

type fingerprintArguments struct {
	Headers Value[[]Item]           `arg:"header..." form:"header" default:"Content-Type" help:"request headers that join it, in this order; or none"`
	Body    Value[runtime.BodyMode] `arg:"body=" one:"raw json" default:"raw" help:"the body's bytes, or a canonical form of JSON"`
}

type requestArguments struct {
	Mode     Value[string] `arg:"strict|lenient" one:"strict lenient" default:"lenient" help:"whether unknown members of a JSON body are refused, and an empty body where members are required: no pointers, without omitempty"`
	Max      Value[int64]  `arg:"max=" value:"SIZE" default:"1MiB" help:"largest body; beyond it 413"`
	Encoding Value[[]Item] `arg:"encoding=" value:"CODING,..." default:"none" help:"content codings, such as gzip, in which raw and standard handlers take the body as it comes; others are 415"`
}

type responseArguments struct {
	Max    Value[int64]  `arg:"max=" value:"SIZE" default:"16KiB" help:"largest answer, headers included"`
	Replay Value[[]Item] `arg:"replay=" value:"HEADER,..." form:"header" default:"Content-Type,Location,protective" help:"response headers that answers keep; protective stands for those that make an answer safe, such as X-Content-Type-Options; or none"`
}

type leaseArguments struct {
	Lease   Value[time.Duration] `arg:"duration" default:"30s" help:"at least 2s"`
	Timeout Value[time.Duration] `arg:"timeout=" value:"DURATION" default:"5/6 of the lease" help:"the handler's deadline, at least 1s below the lease"`
	Renew   Value[string]        `arg:"renew=" one:"on off" default:"off" help:"whether a running handler extends its lease; then timeout= must be given and may exceed the lease"`
}

type retainArguments struct {
	Retain Value[time.Duration] `arg:"duration" default:"24h" help:"above the lease"`
	Sweep  Value[int]           `arg:"sweep=" value:"ROWS" default:"20" help:"rows that one request may delete"`
	Gone   Value[time.Duration] `arg:"gone=" value:"DURATION" default:"0s" help:"how long after that a late retry is refused with 410"`
}

type scopeArguments struct {
	Scope Value[runtime.Scope] `arg:"principal|operation" one:"principal operation" default:"principal" help:"one key space per caller, or per caller and operation"`
}

type onArguments struct {
	Mismatch Value[int]             `arg:"mismatch=" one:"422 409 400" default:"422" help:"status for a key that comes back with another request"`
	Failure  Value[runtime.Failure] `arg:"failure=" one:"store release hold" default:"store, or release with a transaction" help:"what happens to the claim after a failure: stored as final, deleted, or kept until the lease ends"`
	Wait     Value[time.Duration]   `arg:"wait=" value:"DURATION" default:"0s" help:"how long a duplicate waits for the running owner"`
}

type commitArguments struct {
	Mode  Value[string] `arg:"twice|once" one:"twice once" default:"twice" help:"claim first, then effects and answer together; or all in one, on SQLite and PostgreSQL"`
	Retry Value[int]    `arg:"retry=" value:"TIMES" default:"0" help:"how often the handler runs again, in the same claim, after a deadlock or a serialization failure"`
}
