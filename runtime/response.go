package runtime

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// Work is a handler's work on a decoded request.
type Work func(ctx context.Context) (*Response, error)

// TxWork is [Work] in a transaction.
type TxWork[T any] func(ctx context.Context, tx T) (*Response, error)

// Response is what raw handlers return and what encoders make of results.
type Response struct {
	Status int // 0: the endpoint's own
	Header http.Header
	Body   []byte

	err error
}

// JSON returns v as a JSON body.
func JSON(status int, v any) (*Response, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("idemgen: the result does not encode as JSON: %w", err)
	}
	return &Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
}

// JSONStatus returns v as a JSON body under the status that it says itself,
// which must be one of the statuses; 0 and a nil v stand for the first of them.
// A status without a body leaves it out.
func JSONStatus(v interface{ HTTPStatus() int }, statuses ...int) (*Response, error) {
	status := 0
	if value := reflect.ValueOf(v); value.Kind() != reflect.Pointer || !value.IsNil() {
		status = v.HTTPStatus()
	}
	if status == 0 {
		status = statuses[0]
	}
	if !slices.Contains(statuses, status) {
		return nil, fmt.Errorf("idemgen: the result says status %d, which is none of the endpoint's, %v", status, statuses)
	}
	r, err := JSON(status, v)
	if err == nil && !bodyAllowed(status) {
		r = NoContent(status)
	}
	return r, err
}

// NoContent returns a response without a body.
func NoContent(status int) *Response { return &Response{Status: status} }

// Err returns the first value that did not format.
func (r *Response) Err() error { return r.err }

// SetHeader sets a header to a value, unless the value's text is empty.
func SetHeader[T any](r *Response, name string, v T, format func(T) (string, error)) {
	SetHeaderList(r, name, []T{v}, format)
}

// SetHeaderPointer sets a header to a value, unless it is nil or its text empty.
func SetHeaderPointer[T any](r *Response, name string, v *T, format func(T) (string, error)) {
	if v != nil {
		SetHeader(r, name, *v, format)
	}
}

// SetHeaderList sets a header to one line per value, leaving out values whose
// text is empty; a header without a line left stays as it was.
func SetHeaderList[T any](r *Response, name string, list []T, format func(T) (string, error)) {
	var lines []string
	for _, v := range list {
		text, err := format(v)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("idemgen: header %s: %w", name, err)
		}
		if err == nil && text != "" {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header[http.CanonicalHeaderKey(name)] = lines
}

// FormatString writes the text as it is.
func FormatString[T ~string](v T) (string, error) { return string(v), nil }

// FormatBool writes true or false.
func FormatBool[T ~bool](v T) (string, error) { return strconv.FormatBool(bool(v)), nil }

// FormatInt writes a decimal integer.
func FormatInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64](v T) (string, error) {
	return strconv.FormatInt(int64(v), 10), nil
}

// FormatUint writes a decimal integer.
func FormatUint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](v T) (string, error) {
	return strconv.FormatUint(uint64(v), 10), nil
}

// FormatFloat writes the shortest decimal that reads back as v.
func FormatFloat[T ~float32 | ~float64](v T) (string, error) {
	return strconv.FormatFloat(float64(v), 'g', -1, int(unsafe.Sizeof(v))*8), nil
}

// FormatDuration writes what time.ParseDuration reads.
func FormatDuration[T ~int64](v T) (string, error) { return time.Duration(v).String(), nil }

// FormatText writes a type that marshals itself.
func FormatText[T encoding.TextMarshaler](v T) (string, error) {
	text, err := v.MarshalText()
	return string(text), err
}
