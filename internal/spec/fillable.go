package spec

import (
	"go/types"
	"reflect"
	"strings"
)

// unfit is a part of a request that JSON can never fill, or of a result that
// it cannot write.
type unfit struct {
	field *types.Var // the innermost field; nil for the type itself
	way   string     // such as "Items[].Done"
	why   string
}

// unfillable finds a part of a request's body that no JSON fills. Parts that a
// tag takes out of the body are not looked at.
func unfillable(root types.Type) *unfit {
	s, ok := structOf(root)
	if !ok {
		return nil
	}
	if readsItself(root) {
		return borrowed(root, readers...)
	}
	return (&fillReader{seen: map[types.Type]bool{types.Unalias(root): true}, own: readsItself}).fields(s, "")
}

// unsaid finds a part of a result that JSON writes as an empty object, or not
// at all, although it says something.
func unsaid(root types.Type) *unfit {
	s, ok := structOf(root)
	if !ok {
		return nil
	}
	if writesItself(root) {
		return borrowed(root, writers...)
	}
	return (&fillReader{seen: map[types.Type]bool{types.Unalias(root): true}, own: writesItself, output: true}).fields(s, "")
}

// fillReader looks for what cannot be filled or is not written, each type once.
type fillReader struct {
	seen   map[types.Type]bool
	own    func(types.Type) bool // a type has its own form of JSON
	output bool
}

// readers and writers are the methods by which a type has its own form.
var (
	readers = []string{"UnmarshalJSON", "UnmarshalJSONFrom", "UnmarshalText"}
	writers = []string{"MarshalJSON", "MarshalJSONTo", "MarshalText"}
)

// readsItself reports whether a variable of type t reads JSON by a method of
// its own.
func readsItself(t types.Type) bool {
	return !types.IsInterface(t) && (readsJSON(t) || implements(t, textUnmarshaler))
}

// writesItself is readsItself for writing.
func writesItself(t types.Type) bool {
	return !types.IsInterface(t) && (writesJSON(t) || implements(t, textMarshaler))
}

func (r *fillReader) fields(s *types.Struct, way string) *unfit {
	if lost := lostMember(s); lost != nil {
		lost.way = strings.TrimPrefix(way+"."+lost.way, ".")
		return lost
	}
	for i := range s.NumFields() {
		field := s.Field(i)
		name, visible := jsonName(field, s.Tag(i))
		inner := strings.TrimPrefix(way+"."+field.Name(), ".")
		if _, tagged := reflect.StructTag(s.Tag(i)).Lookup("json"); tagged && !field.Exported() && !field.Embedded() && name != "" {
			return &unfit{field, inner, "is not exported, so that its json tag does nothing"}
		}
		if !visible || outsideBody(s.Tag(i)) {
			continue
		}
		if found := r.field(field, name, inner); found != nil {
			if found.field == nil {
				found.field = field
			}
			return found
		}
	}
	return nil
}

func (r *fillReader) field(field *types.Var, name, way string) *unfit {
	elem, pointer := dereference(field.Type())
	inner, isStruct := structOf(elem)
	if what := handleOf(elem); field.Embedded() && what != "" {
		return &unfit{field, way, "is " + what}
	}
	if !field.Embedded() || name != "" || !isStruct || r.own(elem) {
		if !field.Exported() {
			return nil // embedded and no struct: JSON passes it over
		}
		return r.value(field.Type(), way)
	}
	if pointer && !r.output && opaque(inner) {
		return &unfit{field, way, "is an embedded pointer to a struct without members, which stays nil"}
	}
	if pointer && !r.output && !field.Exported() && hasJSONField(inner, map[*types.Struct]bool{}) {
		return &unfit{field, way, "is an embedded pointer to a type that is not exported, which encoding/json cannot set: embed the struct by value"}
	}
	if r.seen[types.Unalias(elem)] {
		return nil
	}
	r.seen[types.Unalias(elem)] = true
	return r.fields(inner, way)
}

func (r *fillReader) value(t types.Type, way string) *unfit {
	t = types.Unalias(t)
	if r.seen[t] || isInvalid(t) {
		return nil
	}
	r.seen[t] = true
	if what := handleOf(t); what != "" {
		return &unfit{nil, way, "is " + what}
	}
	if r.own(t) {
		names := readers
		if r.output {
			names = writers
		}
		lost := borrowed(t, names...)
		if lost != nil {
			lost.way = way + "." + lost.way
		}
		return lost
	}
	if isError(t) && r.output {
		return &unfit{nil, way, "is an error, whose text JSON does not write"}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if !r.output && (u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer) {
			return &unfit{nil, way, "is " + u.Name()}
		}
	case *types.Chan:
		return r.unlessWritten(way, "is a channel")
	case *types.Signature:
		return r.unlessWritten(way, "is a function")
	case *types.Interface:
		if u.NumMethods() > 0 {
			return r.unlessWritten(way, "is an interface with methods, and JSON does not say of which type its value is")
		}
	case *types.Pointer:
		return r.value(u.Elem(), way)
	case *types.Slice:
		return r.value(u.Elem(), way+"[]")
	case *types.Array:
		return r.value(u.Elem(), way+"[]")
	case *types.Map:
		key, ok := u.Key().Underlying().(*types.Basic)
		if !r.output && !implements(u.Key(), textUnmarshaler) && (!ok || key.Info()&(types.IsString|types.IsInteger) == 0) {
			return &unfit{nil, way, "is a map whose keys are no names of JSON members"}
		}
		return r.value(u.Elem(), way+"[]")
	case *types.Struct:
		if opaque(u) {
			if r.output {
				return &unfit{nil, way, "has only fields that are not exported, and no method that writes JSON"}
			}
			return &unfit{nil, way, "has only fields that are not exported, and no method that reads JSON"}
		}
		return r.fields(u, way)
	}
	return nil
}

// unlessWritten is an unfit part of a request. What of a result cannot be
// written at all has a rule of its own.
func (r *fillReader) unlessWritten(way, why string) *unfit {
	if r.output {
		return nil
	}
	return &unfit{nil, way, why}
}

// opaque reports whether a struct has fields, none of which JSON sees, although
// no tag says so.
func opaque(s *types.Struct) bool {
	for i := range s.NumFields() {
		if _, tagged := reflect.StructTag(s.Tag(i)).Lookup("json"); tagged || s.Field(i).Exported() || outsideBody(s.Tag(i)) {
			return false
		}
	}
	return s.NumFields() > 0 && !hasJSONField(s, map[*types.Struct]bool{})
}
