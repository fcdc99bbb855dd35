package runtime

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// encoding/json names the member that its own rules refuse without the indexes
// on the way, and none at all when a type's own method refuses. So a body that
// was refused is looked through once more, member by member.

const (
	// searchBudget bounds the bytes that are read again for one answer: every
	// level of nesting reads its part of the body anew.
	searchBudget = 4 << 20
	// maxPointer bounds what an answer says of names that the caller chose.
	maxPointer = 256
)

// refusedMember returns the JSON pointer (RFC 6901) of the first part of a body
// that does not decode into a type, and why. The pointer is "" when that is the
// body as a whole, and names a part around it when the search would cost too
// much.
func refusedMember(body []byte, into reflect.Type, refusal error) (pointer string, why error) {
	s := memberSearch{budget: searchBudget}
	pointer, why = s.look(body, into, refusal)
	if len(pointer) > maxPointer {
		// A pointer that is cut names the member that holds it.
		pointer = pointer[:strings.LastIndexByte(pointer[:maxPointer+1], '/')]
	}
	return pointer, why
}

// memberSearch is one search for what a type refuses.
type memberSearch struct{ budget int }

// look searches a text that does not decode into a type for refusal.
func (s *memberSearch) look(text []byte, into reflect.Type, refusal error) (string, error) {
	for into.Kind() == reflect.Pointer && !readsItself(into) {
		into = into.Elem()
	}
	if readsItself(into) {
		return "", refusal
	}
	switch into.Kind() {
	case reflect.Struct, reflect.Map:
		for _, m := range s.members(text) {
			// A whole object around the member lets encoding/json find the
			// field and its options, and check a map's key.
			why := s.decode(m.object(), into)
			if why == nil {
				continue
			}
			name, t := targetOf(into, m.name)
			below := ""
			if t != nil {
				if inner := s.decode(m.value, t); inner != nil {
					below, why = s.look(m.value, t, inner)
				}
			}
			return "/" + escapePointer(name) + below, why
		}
	case reflect.Slice, reflect.Array:
		var elements []json.RawMessage
		if s.read(text, &elements) != nil {
			return "", refusal
		}
		for i, element := range elements {
			if why := s.decode(element, into.Elem()); why != nil {
				below, why := s.look(element, into.Elem(), why)
				return "/" + strconv.Itoa(i) + below, why
			}
		}
	}
	return "", refusal
}

// decode is the error of decoding a text into a new value of a type.
func (s *memberSearch) decode(text []byte, into reflect.Type) error {
	return s.read(text, reflect.New(into).Interface())
}

// read decodes a text while the budget lasts; then everything passes, so that
// the search ends where it is.
func (s *memberSearch) read(text []byte, into any) error {
	if s.budget -= len(text); s.budget < 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// readsItself reports whether a type's own method decides what it accepts.
func readsItself(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return t.Implements(jsonUnmarshaler) || t.Implements(textUnmarshaler) || readsStream(t)
}

// readsStream reports whether a type has the method of encoding/json/v2, which
// encoding/json calls where Go has that package. Not every Go has it, so that
// its interface cannot be named here.
func readsStream(t reflect.Type) bool {
	method, ok := t.MethodByName("UnmarshalJSONFrom")
	if !ok || method.Type.NumIn() != 2 || method.Type.NumOut() != 1 || method.Type.Out(0) != reflect.TypeFor[error]() {
		return false
	}
	decoder := method.Type.In(1)
	return decoder.Kind() == reflect.Pointer && decoder.Elem().Name() == "Decoder" && decoder.Elem().PkgPath() == "encoding/json/jsontext"
}

// member is one member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// object is an object of this member alone.
func (m *member) object() []byte {
	// Strings always encode.
	name, _ := json.Marshal(m.name)
	return slices.Concat([]byte{'{'}, name, []byte{':'}, m.value, []byte{'}'})
}

// members are the members of an object in their order, none where the text is
// no object.
func (s *memberSearch) members(text []byte) (all []member) {
	if s.budget -= len(text); s.budget < 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return all
		}
		m := member{}
		m.name, _ = name.(string)
		if dec.Decode(&m.value) != nil {
			return all
		}
		all = append(all, m)
	}
	return all
}

// targetOf is the name of what a member fills, as the type writes it, and the
// type to look into: nil where the member itself is to be named.
func targetOf(t reflect.Type, name string) (written string, into reflect.Type) {
	if t.Kind() == reflect.Map {
		return name, t.Elem()
	}
	written = name
	for _, field := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), tag == "-", field.Anonymous && tag == "":
			continue
		case tag == "":
			tag = field.Name
		}
		if tag == name || into == nil && strings.EqualFold(tag, name) {
			written, into = tag, field.Type
			if options == "string" {
				into = nil
			}
		}
		if tag == name {
			break
		}
	}
	return written, into
}

// escapePointer writes a name as a pointer has it.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
