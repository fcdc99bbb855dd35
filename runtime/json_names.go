package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// encoding/json takes the last of several members that stand for one: of two
// with one name, and of two whose names differ in case only where they fill a
// field. Which one counts then depends on the order, which a canonical form
// does not keep, and on the reader. Such a body is refused.

// clash says where a body is ambiguous or too deep.
type clash struct {
	path []string // names and indexes, innermost last
	deep bool     // the nesting is beyond maxJSONDepth
	// unknown says that the member is one of which the type knows nothing.
	unknown bool
}

// refusal is the answer to the clash.
func (c *clash) refusal() *Error {
	const broken = "The body is not the JSON that is expected: "
	if c.deep {
		return invalid(nil, fmt.Sprintf(broken+"it is nested more than %d deep.", maxJSONDepth))
	}
	pointer := c.pointer()
	rule := "stands there twice; names that differ in case only are one"
	if c.unknown {
		rule = "is not one that is known here"
	}
	return invalid(nil, fmt.Sprintf(broken+"the member %q "+rule+".", pointer), FieldError{Pointer: pointer, Detail: "It " + rule + "."})
}

// pointer is where the clash is (RFC 6901), cut to what an answer may hold.
func (c *clash) pointer() string {
	var b strings.Builder
	for _, step := range c.path {
		if b.Len()+len(step) > maxPointer {
			break
		}
		b.WriteByte('/')
		b.WriteString(escapePointer(step))
	}
	return b.String()
}

// namesClash returns the first clash in a JSON text that is to be decoded into
// a type; nil stands for a type of which nothing is known. A text that is not
// JSON has none: its decoder will say so.
func namesClash(text []byte, into reflect.Type) *clash {
	r := nameReader{in: text}
	r.value(shapeOf(into), 0)
	return r.clash
}

// nameReader reads one value for the names in it. It is lenient: texts that it
// takes and encoding/json does not are refused by that.
type nameReader struct {
	in []byte
	at int
	// strict reports members that fill nothing, too.
	strict bool
	keys   [][]byte // what the members of the open objects stand for, innermost last
	clash  *clash
}

// space skips white space and reports whether something follows.
func (r *nameReader) space() bool {
	for r.at < len(r.in) && strings.IndexByte(" \t\r\n", r.in[r.at]) >= 0 {
		r.at++
	}
	return r.at < len(r.in)
}

// take consumes b, when it comes next.
func (r *nameReader) take(b byte) bool {
	if r.space() && r.in[r.at] == b {
		r.at++
		return true
	}
	return false
}

// value reads a value and reports whether to go on.
func (r *nameReader) value(s *jsonShape, depth int) bool {
	if !r.space() {
		return false
	}
	switch r.in[r.at] {
	case '{', '[':
		if depth == maxJSONDepth {
			r.clash = &clash{deep: true}
			return false
		}
		if r.at++; r.in[r.at-1] == '{' {
			return r.object(s, depth+1)
		}
		return r.array(s, depth+1)
	case '"':
		_, ok := r.text()
		return ok
	}
	start := r.at
	for r.at < len(r.in) && strings.IndexByte(",]} \t\r\n", r.in[r.at]) < 0 {
		r.at++
	}
	return r.at > start
}

func (r *nameReader) array(s *jsonShape, depth int) bool {
	for i := 0; !r.take(']'); i++ {
		if i > 0 && !r.take(',') {
			return false
		}
		if !r.value(s.element(), depth) {
			return r.under(strconv.Itoa(i))
		}
	}
	return true
}

func (r *nameReader) object(s *jsonShape, depth int) bool {
	base := len(r.keys)
	defer func() { r.keys = r.keys[:base] }()
	var many map[string]bool // the keys, once they are many
	for first := true; !r.take('}'); first = false {
		if !first && !r.take(',') {
			return false
		}
		if !r.space() || r.in[r.at] != '"' {
			return false
		}
		quoted, ok := r.text()
		if !ok || !r.take(':') {
			return false
		}
		name := nameOf(quoted)
		if r.strict && !s.names(name) {
			r.clash = &clash{unknown: true}
			return r.under(string(name))
		}
		key, below := s.member(name)
		if many == nil && len(r.keys)-base == 16 {
			many = map[string]bool{}
			for _, earlier := range r.keys[base:] {
				many[string(earlier)] = true
			}
		}
		if many != nil && many[string(key)] || many == nil && contains(r.keys[base:], key) {
			r.clash = &clash{}
			return r.under(string(key))
		}
		if many != nil {
			many[string(key)] = true
		} else {
			r.keys = append(r.keys, key)
		}
		if !r.value(below, depth) {
			return r.under(string(key))
		}
	}
	return true
}

// under adds a step to the way to a clash, when there is one.
func (r *nameReader) under(step string) bool {
	if r.clash != nil && !r.clash.deep {
		r.clash.path = append([]string{step}, r.clash.path...)
	}
	return false
}

// text consumes a string and returns it as it stands there, in its quotes.
func (r *nameReader) text() ([]byte, bool) {
	start := r.at
	for r.at++; r.at < len(r.in); r.at++ {
		switch r.in[r.at] {
		case '"':
			r.at++
			return r.in[start:r.at], true
		case '\\':
			r.at++
		}
	}
	return nil, false
}

func contains(keys [][]byte, key []byte) bool {
	for _, earlier := range keys {
		if bytes.Equal(earlier, key) {
			return true
		}
	}
	return false
}

// nameOf is the name that a string stands for, as encoding/json reads it.
func nameOf(quoted []byte) []byte {
	for _, b := range quoted {
		if b == '\\' || b >= 0x80 {
			var name string
			json.Unmarshal(quoted, &name)
			return []byte(name)
		}
	}
	return quoted[1 : len(quoted)-1]
}

// foldName is a name without its case: equal for those that encoding/json takes
// for one.
func foldName(name []byte) []byte {
	return bytes.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// jsonShape is what is known of the type that a value is decoded into.
type jsonShape struct {
	kind reflect.Kind // Struct, Map, Slice, Interface (names are as they are) or Invalid (unknown: names fold)

	fields map[string]shapeField // of a struct, by name
	folded map[string]string     // the name of the first field that folds to it
	below  reflect.Type          // elements of a map or list
	keys   func([]byte) []byte   // what a name stands for in a map; nil: itself
}

type shapeField struct {
	name []byte
	into reflect.Type // nil: unknown
	deep int          // how many embedded structs it is in
	// outside says that path, query or a header fills it.
	outside bool
}

// The shapes of what elements and members are, when nothing is known.
var (
	unknownShape = &jsonShape{kind: reflect.Invalid}
	plainShape   = &jsonShape{kind: reflect.Interface}
)

// member is what a member of an object stands for, and the shape of its value.
func (s *jsonShape) member(name []byte) (key []byte, below *jsonShape) {
	switch s.kind {
	case reflect.Struct:
		field, ok := s.fields[string(name)]
		if !ok {
			own, alike := s.folded[string(foldName(name))]
			if !alike {
				return name, plainShape // nobody reads it
			}
			field = s.fields[own]
		}
		return field.name, shapeOf(field.into)
	case reflect.Map:
		if s.keys != nil {
			name = s.keys(name)
		}
		return name, shapeOf(s.below)
	case reflect.Invalid:
		return foldName(name), unknownShape
	}
	return name, plainShape
}

// names reports whether a member of this very name may stand in an object.
func (s *jsonShape) names(name []byte) bool {
	if s.kind != reflect.Struct {
		return true
	}
	field, ok := s.fields[string(name)]
	return ok && !field.outside
}

// element is the shape of a list's elements.
func (s *jsonShape) element() *jsonShape {
	if s.kind == reflect.Slice {
		return shapeOf(s.below)
	}
	if s.kind == reflect.Invalid {
		return unknownShape
	}
	return plainShape
}

var shapes sync.Map // of reflect.Type

// shapeOf is the shape of a type, which is made once.
func shapeOf(t reflect.Type) *jsonShape {
	if t == nil {
		return unknownShape
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*jsonShape)
	}
	made, _ := shapes.LoadOrStore(t, newShape(t))
	return made.(*jsonShape)
}

func newShape(t reflect.Type) *jsonShape {
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	if readsItself(t) {
		return unknownShape // what it does with names is its own affair
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &jsonShape{kind: reflect.Struct, fields: map[string]shapeField{}, folded: map[string]string{}}
		s.add(t, 0, map[reflect.Type]bool{})
		return s
	case reflect.Map:
		return &jsonShape{kind: reflect.Map, below: t.Elem(), keys: keysOf(t.Key())}
	case reflect.Slice, reflect.Array:
		return &jsonShape{kind: reflect.Slice, below: t.Elem()}
	}
	return plainShape
}

// add adds the fields of a struct. A name that fields of one depth share is one
// of which nothing is known.
func (s *jsonShape) add(t reflect.Type, depth int, inside map[reflect.Type]bool) {
	if inside[t] {
		return
	}
	inside[t] = true
	defer delete(inside, t)
	for i := range t.NumField() {
		field := t.Field(i)
		embedded := field.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch isStruct := embedded.Kind() == reflect.Struct; {
		case tag == "-", !field.IsExported() && !(field.Anonymous && isStruct):
			continue
		case field.Anonymous && isStruct && name == "":
			s.add(embedded, depth+1, inside)
			continue
		case name == "":
			name = field.Name
		}
		into := field.Type
		if other, ok := s.fields[name]; ok && other.deep <= depth {
			if other.deep == depth {
				s.fields[name] = shapeField{other.name, nil, depth, other.outside}
			}
			continue
		}
		s.fields[name] = shapeField{[]byte(name), into, depth, outsideBody(field.Tag)}
		if alike := string(foldName([]byte(name))); s.folded[alike] == "" {
			s.folded[alike] = name
		}
	}
}

// keysOf is what names stand for in a map with keys of a type.
func keysOf(t reflect.Type) func([]byte) []byte {
	switch kind := t.Kind(); {
	case readsItself(t):
		return foldName
	case kind == reflect.String:
		return nil
	default:
		// Integers: 7 and 07 are one.
		return func(name []byte) []byte {
			if n, err := strconv.ParseInt(string(name), 10, 64); err == nil {
				return strconv.AppendInt(nil, n, 10)
			}
			if n, err := strconv.ParseUint(string(name), 10, 64); err == nil {
				return strconv.AppendUint(nil, n, 10)
			}
			return name
		}
	}
}
