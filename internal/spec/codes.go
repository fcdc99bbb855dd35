package spec

// Code identifies a rule. Codes are stable: a rule keeps its code when its
// message changes, and a code is never given to another rule.
type Code = string

// The form of directives.
const (
	CodeSpaced     Code = "IDEM001"
	CodeUpperCase  Code = "IDEM002"
	CodeBlock      Code = "IDEM003"
	CodeTrailing   Code = "IDEM004"
	CodeDetached   Code = "IDEM005"
	CodeMisplaced  Code = "IDEM006"
	CodeUnknown    Code = "IDEM007"
	CodeDuplicate  Code = "IDEM008"
	CodeWrongPlace Code = "IDEM009"
)

// The arguments of directives.
const (
	CodeQuoting         Code = "IDEM010"
	CodeUnknownArgument Code = "IDEM011"
	CodeRepeated        Code = "IDEM012"
	CodeMissing         Code = "IDEM013"
	CodeValue           Code = "IDEM014"
	// IDEM015 was in use before everything was built.
)

// Interfaces and methods.
const (
	CodeNoAPI       Code = "IDEM020"
	CodeUnannotated Code = "IDEM021"
	CodeNoEndpoints Code = "IDEM022"
	CodeEmbedded    Code = "IDEM023"
	CodeGeneric     Code = "IDEM024"
	CodeUnexported  Code = "IDEM025"
	CodeSignature   Code = "IDEM026"
	CodeInput       Code = "IDEM027"
	CodeOutput      Code = "IDEM028"
	CodeTransaction Code = "IDEM029"
	CodeUnresolved  Code = "IDEM030"
	CodeConstraint  Code = "IDEM031"
	CodeSyntax      Code = "IDEM032"
)

// Routes.
const (
	CodeMethod        Code = "IDEM040"
	CodePattern       Code = "IDEM041"
	CodeHost          Code = "IDEM042"
	CodeConflict      Code = "IDEM043"
	CodeStatus        Code = "IDEM044"
	CodeSameOperation Code = "IDEM045"
	CodeWildcard      Code = "IDEM046"
)

// Fields of requests and answers.
const (
	CodeTag         Code = "IDEM050"
	CodeFieldType   Code = "IDEM051"
	CodeSameField   Code = "IDEM052"
	CodeUnseen      Code = "IDEM053"
	CodeNotReplayed Code = "IDEM054"
	CodeJSON        Code = "IDEM055"
	CodeValidate    Code = "IDEM056"
)

// Policies and ledgers.
const (
	CodePolicy Code = "IDEM060"
	CodeLedger Code = "IDEM070"
	CodeShared Code = "IDEM071"
)

// What generated code needs, and where it goes.
const (
	CodeNameTaken   Code = "IDEM080"
	CodeUnnamable   Code = "IDEM081"
	CodePredeclared Code = "IDEM082"
	CodeForeign     Code = "IDEM083"
)

// Changes of what was generated before.
const (
	CodeNotAccepted Code = "IDEM090"
)

// Rule is one row of the table of rules.
type Rule struct {
	Code Code
	Text string
}

// Rules is the table of all rules, in order of their codes; the reference page
// of the errors is made from it.
func Rules() []Rule {
	return []Rule{
		{CodeSpaced, "A directive has no space before the colon, after it, or after the slashes: //idem:name."},
		{CodeUpperCase, "A directive is written in lower case and begins with the tool's exact name."},
		{CodeBlock, "A block comment cannot hold a directive."},
		{CodeTrailing, "A directive stands on a line of its own."},
		{CodeDetached, "A directive belongs to the comment directly above its interface or method, without a blank line."},
		{CodeMisplaced, "Directives stand on interfaces declared at package level and on their methods only."},
		{CodeUnknown, "The directive is one that idemgen knows."},
		{CodeDuplicate, "A directive stands at most once in one place."},
		{CodeWrongPlace, "A directive stands where its table row says: on the interface, on the method, or on both."},
		{CodeQuoting, "A quoted value is a Go string and ends before a space."},
		{CodeUnknownArgument, "An argument is one that its directive has; words stand before key=value."},
		{CodeRepeated, "An argument is given once."},
		{CodeMissing, "A required argument is given and is not empty."},
		{CodeValue, "An argument's value has the argument's type."},
		{CodeNoAPI, "Directives stand in an interface with //idem:api."},
		{CodeUnannotated, "Every method of an annotated interface has an //idem:endpoint."},
		{CodeNoEndpoints, "An annotated interface has at least one endpoint."},
		{CodeEmbedded, "An annotated interface declares all its methods itself."},
		{CodeGeneric, "An annotated interface has no type parameters."},
		{CodeUnexported, "An annotated method is exported."},
		{CodeSignature, "A method has one of the shapes typed, typed in a transaction, raw or standard."},
		{CodeInput, "The request parameter is a struct or a pointer to one."},
		{CodeOutput, "The result is a struct or a pointer to one."},
		{CodeTransaction, "The transaction parameter is one that the ledger can give, and a method with one has a key."},
		{CodeUnresolved, "The types of an annotated method resolve."},
		{CodeConstraint, "The annotated interfaces of a package stand under one build constraint."},
		{CodeSyntax, "The source parses."},
		{CodeMethod, "An endpoint's method is an unsafe HTTP method."},
		{CodePattern, "An endpoint's pattern is one that http.ServeMux takes."},
		{CodeHost, "A pattern names no host."},
		{CodeConflict, "No two patterns of an interface conflict by the rules of http.ServeMux."},
		{CodeStatus, "An endpoint's status is that of a success and fits its result."},
		{CodeSameOperation, "No two endpoints on one ledger have the same operation name."},
		{CodeWildcard, "In a typed endpoint every wildcard has a path field and every path field a wildcard."},
		{CodeTag, "A path, query or header tag is well formed, names one place, and stands on an exported field."},
		{CodeFieldType, "A path, query or header field has a type that reads from or writes to text."},
		{CodeSameField, "No two fields stand for the same wildcard, query parameter or header."},
		{CodeUnseen, "A header that the handler sees is in the fingerprint's allowlist."},
		{CodeNotReplayed, "A header that the handler sets is in the replay list."},
		{CodeJSON, "What goes into or comes out of a JSON body has types that encoding/json takes."},
		{CodeValidate, "What is named Validate on a request is Validate() error or Validate(context.Context) error, and can be called."},
		{CodePolicy, "The values of a policy are in range and agree with each other."},
		{CodeLedger, "A ledger's engine, driver, folder and table fit together."},
		{CodeShared, "Interfaces that share a ledger folder say the same about it."},
		{CodeNameTaken, "The names of a generated server and its constructor are free in the package."},
		{CodeUnnamable, "Generated code can name the types that it uses."},
		{CodePredeclared, "The package does not hide a predeclared identifier that generated code uses."},
		{CodeForeign, "What stands where output belongs is idemgen's own: nothing else is overwritten."},
		{CodeNotAccepted, "What decides where a key's row is found stays as the generated file that stands has it: table, engine, scope, operation name under scope operation, key header, and the keys that are taken. Another value makes retries in flight run again, or refuses them: it is taken with -accept only."},
	}
}
