// Package spec is the model of annotated interfaces and the rules that they
// must keep. It knows Go types, but no syntax tree and no output.
package spec

import (
	"go/token"
	"go/types"

	"github.com/idemgen/idemgen/runtime"
)

// Package is one Go package with annotated interfaces.
type Package struct {
	Name string // as in its package clause
	Path string // import path
	Dir  string // absolute
	// Types is the type-checked package; its imports print in generated code.
	Types *types.Package
	// Taken holds the package-level identifiers declared outside idemgen's
	// own output, and the names of file-scope imports.
	Taken map[string]bool
	// BuildConstraint is the constraint of the files that hold the annotated
	// interfaces, such as "linux && !lite"; "" without one. The output needs
	// the same.
	BuildConstraint string
	// APIs are in order of file name, then position.
	APIs []*API
}

// API is one annotated interface.
type API struct {
	Name      string
	Pos       token.Position
	Prefix    string
	Profile   string
	Ledger    *Ledger     // nil: no ledger is emitted
	Endpoints []*Endpoint // in order of declaration
	Skipped   []string    // methods and embedded types that are passed over
}

// Ledger is a ledger package to emit.
type Ledger struct {
	Pos     token.Position
	Engines []string // sqlite, postgres, mysql; at least one
	Driver  string   // sql or pgx
	Dir     string   // slash-separated, relative to the package's directory
	Table   string   // identifier or schema.identifier
}

// Endpoint is one annotated method.
type Endpoint struct {
	Name    string // of the Go method
	Doc     string // its doc comment without directives
	Pos     token.Position
	Method  string // HTTP method
	Pattern string // ServeMux pattern with the prefix, without method and host
	Status  int    // of a success
	// Statuses are those that the result may say, Status first; nil where it
	// says none.
	Statuses []int
	Policy   runtime.Policy
	Shape    Shape

	// Tx is the transaction parameter; nil without one. The methods of an
	// interface agree about its kind.
	Tx *Transaction
	// In and Out are nil where the method has none, and for shapes other than
	// Typed.
	In  *Input
	Out *Output

	origins map[string]Origin // see Origin
}

// Shape is the form of a method.
type Shape int

const (
	// Typed is (ctx[, tx][, In]) ([Out,] error).
	Typed Shape = iota
	// Raw is (ctx, *runtime.Request) (*runtime.Response, error).
	Raw
	// Standard is (http.ResponseWriter, *http.Request).
	Standard
)

// Input is the request parameter of a typed method.
type Input struct {
	Type     types.Type // the struct type, without the pointer
	Pointer  bool       // the parameter is a pointer to it
	Body     bool       // it has fields that the JSON body fills
	Strict   bool       // unknown members of it are refused
	Validate Validation
	Fields   []Field // the fields that path, query and headers fill
}

// Output is the result of a typed method.
type Output struct {
	Type    types.Type // without the pointer
	Pointer bool
	Headers []Field
}

// Field is a struct field that lives outside the JSON body.
type Field struct {
	Selector string // as written after the variable: "ID" or "Meta.ID"
	Place    Place
	Name     string // wildcard, query parameter or header name
	Form     Form
	Elem     types.Type // the type of one value
	Kind     Kind       // how one value is read and written
	Pos      token.Position
}

// Place is where a field's value stands in the request or answer.
type Place string

const (
	Path   Place = "path"
	Query  Place = "query"
	Header Place = "header"
)

// Form is how often a field's value may stand there.
type Form int

const (
	Single  Form = iota // absent is the zero value
	Pointer             // absent is nil
	List                // all values, in order
)

// Kind is how one value is read and written as text.
type Kind int

const (
	String Kind = iota
	Bool
	Int
	Uint
	Float
	Duration // the form of time.ParseDuration
	Text     // encoding.TextUnmarshaler and encoding.TextMarshaler
)
