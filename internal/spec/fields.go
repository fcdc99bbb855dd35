package spec

import (
	"fmt"
	"go/token"
	"go/types"
	"net/textproto"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// fieldReader collects the fields of a request or a result that live outside
// its JSON body.
type fieldReader struct {
	pkg    *types.Package
	locate func(types.Object) token.Position
	// declared is that of the draft.
	declared func(*types.TypeName) types.Type
	// elsewhere reports whether a type is a result, for a request, or a
	// request, for a result, of a method of the interface.
	elsewhere func(types.Type) bool
	method    string
	// root is the struct's type, and pos where the method names it: the place
	// of problems with fields of other packages.
	root   types.Type
	pos    token.Position
	output bool // a result: only headers

	fields   []Field
	problems Problems
}

// report reports a problem with a field, at the field when it is declared in
// the user's package, and else at the method's parameter.
func (r *fieldReader) report(field *types.Var, code Code, format string, args ...any) {
	pos, message := r.locate(field), fmt.Sprintf(format, args...)
	where := fmt.Sprintf("field %s of %s: ", field.Name(), typeText(r.root, r.pkg))
	if !pos.IsValid() {
		pos, where = r.pos, r.method+": "+where
	}
	r.problems = append(r.problems, Problem{Pos: pos, Code: code, Message: where + message})
}

// read walks the struct and the structs that it embeds by value.
func (r *fieldReader) read() {
	s, _ := structOf(r.root)
	r.walk(s, nil)
	r.strayTags()
}

func (r *fieldReader) walk(s *types.Struct, path []*types.Var) {
	for i := range s.NumFields() {
		field := s.Field(i)
		place, name, tagged := r.tag(field, s.Tag(i))
		switch {
		case tagged:
			r.add(field, path, place, name)
		case field.Embedded():
			r.embedded(field, path)
		}
	}
}

// embedded walks an embedded struct.
func (r *fieldReader) embedded(field *types.Var, path []*types.Var) {
	if isInvalid(field.Type()) {
		r.report(field, CodeUnresolved, "its type does not resolve, so its path, query and header fields are unknown: run go vet")
		return
	}
	elem, pointer := dereference(field.Type())
	s, ok := structOf(elem)
	if !ok {
		return
	}
	if !pointer {
		r.walk(s, append(slices.Clone(path), field))
		return
	}
	if inner := firstTagged(s, nil); inner != "" {
		r.report(field, CodeTag, "it embeds a pointer, which may be nil, to a struct with the tagged field %s: embed the struct by value", inner)
	}
}

// firstTagged names the first tagged field of a struct or of what it embeds,
// or "".
func firstTagged(s *types.Struct, seen []*types.Struct) string {
	if slices.Contains(seen, s) {
		return ""
	}
	for i := range s.NumFields() {
		field := s.Field(i)
		for _, key := range places {
			if _, ok := reflect.StructTag(s.Tag(i)).Lookup(string(key)); ok {
				return field.Name()
			}
		}
		if elem, _ := dereference(field.Type()); field.Embedded() {
			if inner, ok := structOf(elem); ok {
				if name := firstTagged(inner, append(seen, s)); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

var places = []Place{Path, Query, Header}

// badTag finds a tag key that is followed by something other than a quoted
// string, which reflect ignores in silence.
var badTag = regexp.MustCompile(`(?:^|\s)(path|query|header)(?:\s*:\s*[^"\s]|\s+:|:\s+")`)

// tag reads the place and name of a field, and whether it has one.
func (r *fieldReader) tag(field *types.Var, text string) (place Place, name string, tagged bool) {
	tag := reflect.StructTag(text)
	var found []Place
	for _, key := range places {
		if r.output && key != Header {
			continue // a type may be a request too, where these tags count
		}
		if value, ok := tag.Lookup(string(key)); ok && value != "-" {
			found = append(found, key)
			place, name = key, value
		}
	}
	switch {
	case len(found) == 0:
		if match := badTag.FindStringSubmatch(text); match != nil {
			r.report(field, CodeTag, "the tag `%s` is malformed: write %s:\"name\"", text, match[1])
		}
		return "", "", false
	case len(found) > 1:
		r.report(field, CodeTag, "the tags %s and %s exclude each other: a field has one place", found[0], found[1])
	case !field.Exported():
		r.report(field, CodeTag, "it has a %s tag but is not exported", place)
	case name == "":
		r.report(field, CodeTag, "the %s tag is empty: write %s:\"name\"", place, place)
	case strings.Contains(name, ","):
		r.report(field, CodeTag, "%s:%q has options: the tag is the name alone", place, name)
	case place == Header && !isToken(name):
		r.report(field, CodeTag, "%q is not a header name", name)
	default:
		return place, name, true
	}
	// Reported; the field is not followed any further.
	return "", "", false
}

// add checks one tagged field and keeps it.
func (r *fieldReader) add(field *types.Var, path []*types.Var, place Place, name string) {
	if place == Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
	}
	for _, earlier := range r.fields {
		if earlier.Place == place && earlier.Name == name {
			r.report(field, CodeSameField, "%s %q is filled by field %s already", place, name, earlier.Selector)
			return
		}
	}
	if isInvalid(field.Type()) {
		r.report(field, CodeUnresolved, "its type does not resolve: run go vet")
		return
	}
	elem, form := formOf(field.Type(), r.output)
	kind, ok := kindOf(elem, r.output)
	if kind == Int && isDuration(elem, r.declared) {
		kind = Duration
	}
	switch {
	case !ok:
		r.report(field, CodeFieldType, "%s", unsupported(field.Type(), elem, place, r.pkg, r.output))
		return
	case !r.output && !isNameable(elem, r.pkg):
		r.report(field, CodeFieldType, "generated code cannot name its type %s, which another package keeps to itself", typeText(elem, r.pkg))
		return
	case place == Path && form != Single:
		r.report(field, CodeFieldType, "the path has exactly one value for %q: use %s", name, typeText(elem, r.pkg))
		return
	}
	chosen := selector(path, field, r.pkg)
	if !reaches(r.root, r.pkg, chosen, field) {
		r.report(field, CodeUnnamable, "generated code cannot reach it: %s of %s is another field or none, since a type that is not exported embeds it and other names hide it; give it a name of its own, or export the embedded type",
			chosen, typeText(r.root, r.pkg))
		return
	}
	pos := r.locate(field)
	if !pos.IsValid() {
		pos = r.pos
	}
	r.fields = append(r.fields, Field{
		Selector: chosen, Place: place, Name: name,
		Form: form, Elem: elem, Kind: kind, Pos: pos,
	})
}

// selector is how generated code reaches a field: through the embedded fields
// by name, but for those that are not visible to the package, where Go's own
// promotion has to reach what is behind them.
func selector(path []*types.Var, field *types.Var, pkg *types.Package) string {
	var names []string
	for _, step := range path {
		if step.Exported() || step.Pkg() == pkg {
			names = append(names, step.Name())
		}
	}
	return strings.Join(append(names, field.Name()), ".")
}

// reaches reports whether a selector, in code of the package, is a field and no
// other: what a struct embeds may be hidden by what stands above it, or beside
// it at the same depth.
func reaches(root types.Type, pkg *types.Package, selector string, field *types.Var) bool {
	t := root
	var last *types.Var
	for name := range strings.SplitSeq(selector, ".") {
		obj, _, _ := types.LookupFieldOrMethod(t, true, pkg, name)
		v, ok := obj.(*types.Var)
		if !ok {
			return false
		}
		t, last = v.Type(), v
	}
	return last == field
}

// formOf splits a field's type into how often its value may stand and the type
// of one value. A type with a text form of its own is one value, whatever it is
// made of.
func formOf(t types.Type, output bool) (types.Type, Form) {
	if isText(t, output) && !isPointerType(t) {
		return t, Single
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return u.Elem(), Pointer
	case *types.Slice:
		if basic, ok := types.Unalias(u.Elem()).(*types.Basic); ok && basic.Kind() == types.Byte {
			return t, Single // neither text nor a list of numbers; refused
		}
		return u.Elem(), List
	default:
		return t, Single
	}
}

// isText reports whether a type reads, or for a result writes, its own text
// form.
func isText(t types.Type, output bool) bool {
	if output {
		return types.Implements(t, textMarshaler) && !types.IsInterface(t)
	}
	return !types.IsInterface(t) && !isPointerType(t) && types.Implements(types.NewPointer(t), textUnmarshaler)
}

func isPointerType(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// kindOf is how one value reads from or writes to text.
func kindOf(t types.Type, output bool) (Kind, bool) {
	if isText(t, output) && !isPointerType(t) {
		return Text, true
	}
	if output && types.Implements(types.NewPointer(t), textMarshaler) {
		// Its own text form is out of reach for a value, and another form
		// would be a surprise.
		return 0, false
	}
	basic, ok := t.Underlying().(*types.Basic)
	if !ok {
		return 0, false
	}
	switch info := basic.Info(); {
	case info&types.IsString != 0:
		return String, true
	case info&types.IsBoolean != 0:
		return Bool, true
	case basic.Kind() == types.Uintptr:
		return 0, false
	case info&types.IsUnsigned != 0:
		return Uint, true
	case info&types.IsInteger != 0:
		return Int, true
	case info&types.IsFloat != 0:
		return Float, true
	default:
		return 0, false
	}
}

// unsupported says why a field's type cannot stand in a place.
func unsupported(t, elem types.Type, place Place, pkg *types.Package, output bool) string {
	text := typeText(t, pkg)
	method, direction := "UnmarshalText", "read from"
	if output {
		method, direction = "MarshalText", "written to"
	}
	if output && types.Implements(types.NewPointer(elem), textMarshaler) {
		return fmt.Sprintf("type %s has MarshalText on its pointer only: give the method a value receiver", text)
	}
	return fmt.Sprintf("type %s cannot be %s a %s: use a string, bool, integer or float, a type with %s, or a pointer to or list of one", text, direction, place, method)
}
