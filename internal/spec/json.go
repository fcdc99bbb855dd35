package spec

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"
)

// hasBody reports whether a JSON body can fill anything of a type: an exported
// field that encoding/json sees and that no path, query or header fills, or
// the type's own reading of JSON.
func hasBody(t types.Type) bool {
	if readsJSON(t) || implements(t, textUnmarshaler) {
		return true
	}
	s, ok := structOf(t)
	return ok && hasJSONField(s, map[*types.Struct]bool{})
}

func hasJSONField(s *types.Struct, seen map[*types.Struct]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	for i := range s.NumFields() {
		field := s.Field(i)
		name, visible := jsonName(field, s.Tag(i))
		if !visible || outsideBody(s.Tag(i)) {
			continue
		}
		if field.Embedded() && name == "" {
			elem, _ := dereference(field.Type())
			if inner, ok := structOf(elem); ok {
				if hasJSONField(inner, seen) {
					return true
				}
				continue
			}
		}
		if field.Exported() {
			return true
		}
	}
	return false
}

// jsonName is the name in a field's json tag, and whether encoding/json looks
// at the field at all. Unexported embedded structs are looked into.
func jsonName(field *types.Var, tag string) (name string, visible bool) {
	value := reflect.StructTag(tag).Get("json")
	if value == "-" {
		return "", false
	}
	name, _, _ = strings.Cut(value, ",")
	return name, field.Exported() || field.Embedded()
}

// outsideBody reports whether a tag puts its field into path, query or header.
func outsideBody(tag string) bool {
	for _, key := range places {
		if value, ok := reflect.StructTag(tag).Lookup(string(key)); ok && value != "-" {
			return true
		}
	}
	return false
}

// unwritable finds a part of a result that encoding/json always refuses to
// write. It returns the way to it, such as "Items[].Done", and the part's type.
func unwritable(t types.Type) (way string, part types.Type) {
	return findUnwritable(t, "", map[types.Type]bool{})
}

func findUnwritable(t types.Type, way string, seen map[types.Type]bool) (string, types.Type) {
	t = types.Unalias(t)
	if seen[t] || strings.Count(way, ".") > 20 {
		return "", nil
	}
	seen[t] = true
	if writesJSON(t) || implements(t, textMarshaler) {
		return "", nil
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer {
			return way, t
		}
	case *types.Chan, *types.Signature:
		return way, t
	case *types.Pointer:
		return findUnwritable(u.Elem(), way, seen)
	case *types.Slice:
		return findUnwritable(u.Elem(), way+"[]", seen)
	case *types.Array:
		return findUnwritable(u.Elem(), way+"[]", seen)
	case *types.Map:
		if !isJSONKey(u.Key()) {
			return way, t
		}
		return findUnwritable(u.Elem(), way+"[]", seen)
	case *types.Struct:
		for i := range u.NumFields() {
			field := u.Field(i)
			if _, visible := jsonName(field, u.Tag(i)); !visible {
				continue
			}
			inner := strings.TrimPrefix(fmt.Sprintf("%s.%s", way, field.Name()), ".")
			if found, part := findUnwritable(field.Type(), inner, seen); part != nil {
				return found, part
			}
		}
	}
	return "", nil
}

// isJSONKey reports whether encoding/json writes a type as the name of a
// member.
func isJSONKey(t types.Type) bool {
	if implements(t, textMarshaler) {
		return true
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsString|types.IsInteger) != 0
}
