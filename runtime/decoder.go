package runtime

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Decoder fills a handler's input from a request. The first failure is kept
// and ends the work: what follows it does nothing. Failures name the place and
// the rule, never the value. A Decoder is used by one goroutine.
type Decoder struct {
	request *Request
	err     error
}

// Decode returns a decoder of the request.
func (r *Request) Decode() *Decoder {
	r.decoded = true
	return &Decoder{request: r}
}

// Err returns the first failure: an [*Error] with status 400, 415 or 422.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) fail(status int, code, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
	}
}

func (d *Decoder) refuse(refusal *Error) {
	if d.err == nil {
		d.err = refusal
	}
}

// JSON decodes the body, one JSON value, into v. A Content-Type other than
// JSON is 415; an absent one is taken for JSON. A request with neither body
// nor Content-Type leaves v as it is: Validate can tell whether that will do.
// A body is refused in which two members stand for one, by their name or as
// names that fill one field, and one that is nested beyond 128.
func (d *Decoder) JSON(v any) {
	if d.err != nil {
		return
	}
	contentType := d.request.http.Header.Get("Content-Type")
	if contentType == "" && len(d.request.Body) == 0 {
		return
	}
	if contentType != "" && !isJSON(contentType) {
		media, _, err := mime.ParseMediaType(contentType)
		if err != nil || len(media) > maxMedia {
			media = "something unreadable"
		}
		d.fail(415, CodeMediaTypeUnexpected, "The body must be application/json, not %s.", media)
		return
	}
	if err := (&Policy{}).checkEncoding(d.request.http.Header); err != nil {
		d.err = err // an encoding that the endpoint takes is for handlers that undo it
		return
	}
	if clash := namesClash(d.request.Body, reflect.TypeOf(v)); clash != nil {
		d.refuse(clash.refusal())
		return
	}
	dec := json.NewDecoder(bytes.NewReader(d.request.Body))
	if err := dec.Decode(v); err != nil {
		d.refuse(d.bodyRefused(err, v))
		return
	}
	if _, err := dec.Token(); err != io.EOF {
		d.fail(400, CodeRequestInvalid, "The body holds more than one JSON value.")
	}
}

// maxMedia bounds what an answer repeats of a media type (RFC 6838, section
// 4.2: two names of at most 127 characters).
const maxMedia = 255

// bodyRefused says what is wrong with a body without repeating any of it.
func (d *Decoder) bodyRefused(err error, v any) *Error {
	const broken = "The body is not the JSON that is expected: "
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF:
		return invalid(nil, broken+"it is empty.")
	case err == io.ErrUnexpectedEOF:
		return invalid(nil, broken+"it ends too early.")
	case errors.As(err, &syntax):
		return invalid(nil, fmt.Sprintf(broken+"it breaks JSON's syntax at byte %d.", syntax.Offset))
	}
	pointer, err := refusedMember(d.request.Body, reflect.TypeOf(v), err)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		// Its text repeats the value, so that it is no cause for a log.
		rule := "must be a JSON " + jsonKind(mismatch)
		what := "it"
		if pointer != "" {
			what = fmt.Sprintf("the member %q", pointer)
		}
		return invalid(nil, broken+what+" "+rule+".", FieldError{Pointer: pointer, Detail: "It " + rule + "."})
	}
	what := "The body"
	if pointer != "" {
		what = fmt.Sprintf("The member %q", pointer)
	}
	return refusedByType(err, what, FieldError{Pointer: pointer})
}

// refusedByType is the error of a value that its type's own method refuses.
// What the type says reaches the caller where it has a status, as for every
// other error; in any case it is the cause.
func refusedByType(err error, what string, field FieldError) *Error {
	err = tame(err)
	field.Detail = "It has a value that its type refuses."
	refusal := &Error{Status: 400, Code: CodeRequestInvalid}
	message := what + " has a value that its type refuses."
	if shown := messageOf(err); shown != "" {
		field.Detail, message = shown, what+" is refused: "+shown
		refusal.Status, _ = statusOf(err)
	}
	if decides, _, _ := deciding(err); decides != nil {
		if own, ok := decides.(*Error); ok && own.Code != "" {
			refusal.Code, refusal.Type, refusal.Title, refusal.RetryAfter = own.Code, own.Type, own.Title, own.RetryAfter
		}
	}
	refusal.Message, refusal.Cause = message, err
	refusal.Members = map[string]any{"errors": []FieldError{field}}
	return refusal
}

// invalid is the refusal of a request that does not decode.
func invalid(cause error, message string, fields ...FieldError) *Error {
	refusal := &Error{Status: 400, Code: CodeRequestInvalid, Message: message, Cause: cause}
	if len(fields) > 0 {
		refusal.Members = map[string]any{"errors": fields}
	}
	return refusal
}

func jsonKind(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "integer in the range of " + kind
	case strings.HasPrefix(kind, "float"):
		return "number"
	case kind == "bool":
		return "boolean"
	case kind == "slice", kind == "array":
		return "array"
	case kind == "struct", kind == "map":
		return "object"
	default:
		return kind
	}
}

// Validate runs v's own rules when everything before succeeded. An error with
// HTTPStatus() int keeps its status; any other error is 422 with its text.
func (d *Decoder) Validate(v interface{ Validate() error }) {
	if d.err != nil {
		return
	}
	d.invalid(v.Validate())
}

// ValidateContext is [Decoder.Validate] for rules that need a context, such as
// a look at a database: it is the request's own, which ends when the client
// goes away.
func (d *Decoder) ValidateContext(v interface {
	Validate(context.Context) error
}) {
	if d.err != nil {
		return
	}
	d.invalid(v.Validate(d.request.http.Context()))
}

func (d *Decoder) invalid(err error) {
	if err = tame(err); err == nil {
		return
	}
	if _, classified := statusOf(err); classified {
		d.err = err
		return
	}
	// Its text is written for the caller; what it wraps is in the log as well.
	d.err = &Error{Status: 422, Code: CodeRequestInvalid, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// parseOne is the one place where texts become values.
func parseOne[T any](d *Decoder, place, name, text string, parse func(string) (T, error)) T {
	v, err := parse(text)
	if err != nil {
		d.refuse(valueRefused(err, place, name))
		var zero T
		return zero
	}
	return v
}

// valueRefused says what is wrong with a value without repeating it.
func valueRefused(err error, place, name string) *Error {
	var number *strconv.NumError
	rule := ""
	switch {
	case errors.Is(err, errDuration):
		rule = "must be a duration with a unit, such as 30s"
	case errors.Is(err, strconv.ErrRange):
		rule = "is out of range"
	case errors.As(err, &number) && number.Func == "ParseBool":
		rule = "must be true or false"
	case errors.As(err, &number) && number.Func == "ParseFloat":
		rule = "must be a number"
	case errors.As(err, &number):
		rule = "must be an integer"
	default:
		return refusedByType(err, fmt.Sprintf("The %s %q", place, name), FieldError{Parameter: name})
	}
	return invalid(nil, fmt.Sprintf("The %s %q %s.", place, name, rule), FieldError{Parameter: name, Detail: "It " + rule + "."})
}

func parseList[T any](d *Decoder, place, name string, texts []string, parse func(string) (T, error)) []T {
	if d.err != nil || len(texts) == 0 {
		return nil
	}
	list := make([]T, len(texts))
	for i, text := range texts {
		list[i] = parseOne(d, place, name, text, parse)
	}
	return list
}

// parseFirst reads a value that may stand there at most once.
func parseFirst[T any](d *Decoder, place, name string, texts []string, parse func(string) (T, error)) *T {
	if d.err != nil || len(texts) == 0 {
		return nil
	}
	if len(texts) > 1 {
		d.fail(400, CodeRequestInvalid, "The %s %q stands there %d times; once is allowed.", place, name, len(texts))
		return nil
	}
	v := parseOne(d, place, name, texts[0], parse)
	return &v
}

// PathValue reads a wildcard of the pattern.
func PathValue[T any](d *Decoder, name string, parse func(string) (T, error)) T {
	if d.err != nil {
		var zero T
		return zero
	}
	return parseOne(d, "path value", name, d.request.PathValue(name), parse)
}

// QueryValue reads a query parameter that may be absent: then it is T's zero.
func QueryValue[T any](d *Decoder, name string, parse func(string) (T, error)) T {
	return orZero(QueryPointer(d, name, parse))
}

// QueryPointer reads a query parameter that may be absent: then it is nil.
func QueryPointer[T any](d *Decoder, name string, parse func(string) (T, error)) *T {
	return parseFirst(d, "query parameter", name, d.request.Query()[name], parse)
}

// QueryList reads all values of a query parameter in their order.
func QueryList[T any](d *Decoder, name string, parse func(string) (T, error)) []T {
	return parseList(d, "query parameter", name, d.request.Query()[name], parse)
}

// HeaderValue reads an allowlisted header, its name in canonical form, that
// may be absent or empty: then it is T's zero.
func HeaderValue[T any](d *Decoder, name string, parse func(string) (T, error)) T {
	return orZero(HeaderPointer(d, name, parse))
}

// HeaderPointer reads an allowlisted header that may be absent or empty: then
// it is nil.
func HeaderPointer[T any](d *Decoder, name string, parse func(string) (T, error)) *T {
	lines := d.request.Header[name]
	if sent := d.request.http.Header[name]; len(sent) > 1 {
		lines = sent // only to say how many there are
	}
	return parseFirst(d, "header", name, lines, parse)
}

// HeaderList reads the elements of an allowlisted header in their order: those
// of all lines, and of each line between its commas (RFC 9110, section 5.6.1).
func HeaderList[T any](d *Decoder, name string, parse func(string) (T, error)) []T {
	return parseList(d, "header", name, listElements(d.request.Header.Get(name)), parse)
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// ParseString takes the text as it is.
func ParseString[T ~string](s string) (T, error) { return T(s), nil }

// ParseBool reads what strconv.ParseBool reads.
func ParseBool[T ~bool](s string) (T, error) {
	v, err := strconv.ParseBool(s)
	return T(v), err
}

// ParseInt reads a decimal integer in the range of T.
func ParseInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64](s string) (T, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && int64(T(v)) != v {
		err = strconv.ErrRange
	}
	return T(v), err
}

// ParseUint reads a decimal integer in the range of T.
func ParseUint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](s string) (T, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err == nil && uint64(T(v)) != v {
		err = strconv.ErrRange
	}
	return T(v), err
}

// ParseFloat reads a finite number in the range of T.
func ParseFloat[T ~float32 | ~float64](s string) (T, error) {
	v, err := strconv.ParseFloat(s, 64)
	narrowed := float64(T(v))
	if err == nil && (v-v != 0 || narrowed-narrowed != 0) {
		err = strconv.ErrRange
	}
	return T(v), err
}

// errDuration says that a text is no duration.
var errDuration = errors.New("not a duration")

// ParseDuration reads what time.ParseDuration reads: a number without a unit is
// no duration.
func ParseDuration[T ~int64](s string) (T, error) {
	v, err := time.ParseDuration(s)
	if err != nil {
		return 0, errDuration
	}
	return T(v), nil
}

// ParseText reads a type that unmarshals itself.
func ParseText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](s string) (T, error) {
	var v T
	err := P(&v).UnmarshalText([]byte(s))
	return v, err
}
