package spec

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// jsonMember is a field that encoding/json may read from or write to a member.
type jsonMember struct {
	field  *types.Var
	name   string
	tagged bool
	depth  int // how many embedded structs it is in
	way    string
	body   bool // nothing but the body fills it
}

// lostMember finds a field that encoding/json passes over because others have
// its name: of several with one name at one depth the only tagged one counts,
// and otherwise none.
func lostMember(s *types.Struct) *unfit {
	byName := map[string][]jsonMember{}
	var names []string
	for _, m := range jsonMembers(s, 0, "", nil) {
		if byName[m.name] == nil {
			names = append(names, m.name)
		}
		byName[m.name] = append(byName[m.name], m)
	}
	for _, name := range names {
		all := byName[name]
		least := slices.MinFunc(all, func(a, b jsonMember) int { return a.depth - b.depth }).depth
		all = slices.DeleteFunc(all, func(m jsonMember) bool { return m.depth > least })
		tagged := slices.DeleteFunc(slices.Clone(all), func(m jsonMember) bool { return !m.tagged })
		for i, m := range all {
			switch {
			case len(all) == 1 || !m.body:
			case len(tagged) == 1 && tagged[0].field != m.field:
				return &unfit{m.field, m.way, fmt.Sprintf("has the name %q in JSON, which the tag of %s gives to that one", name, tagged[0].way)}
			case len(tagged) != 1:
				other := all[(i+1)%len(all)]
				return &unfit{m.field, m.way, fmt.Sprintf("has the name %q in JSON, as %s has, so that encoding/json passes over both", name, other.way)}
			}
		}
	}
	return nil
}

// jsonMembers lists the fields of a struct and of the structs that it embeds.
func jsonMembers(s *types.Struct, depth int, way string, inside []*types.Struct) (all []jsonMember) {
	if slices.Contains(inside, s) {
		return nil
	}
	inside = append(inside, s)
	for i := range s.NumFields() {
		field, tag := s.Field(i), s.Tag(i)
		name, visible := jsonName(field, tag)
		if !visible {
			continue
		}
		path := strings.TrimPrefix(way+"."+field.Name(), ".")
		elem, _ := dereference(field.Type())
		if inner, ok := structOf(elem); ok && field.Embedded() && name == "" {
			all = append(all, jsonMembers(inner, depth+1, path, inside)...)
			continue
		}
		if !field.Exported() {
			continue
		}
		m := jsonMember{field, name, name != "", depth, path, !outsideBody(tag)}
		if name == "" {
			m.name = field.Name()
		}
		all = append(all, m)
	}
	return all
}

// borrowed finds a method by which a struct reads or writes itself although it
// is an embedded field's, so that the other fields have no part in it.
func borrowed(t types.Type, names ...string) *unfit {
	s, ok := structOf(t)
	if !ok {
		return nil
	}
	for _, name := range names {
		obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
		if _, method := obj.(*types.Func); !method || len(index) < 2 {
			continue
		}
		from := s.Field(index[0])
		for i := range s.NumFields() {
			if _, visible := jsonName(s.Field(i), s.Tag(i)); i != index[0] && visible && s.Field(i).Exported() && !outsideBody(s.Tag(i)) {
				return &unfit{s.Field(i), s.Field(i).Name(), fmt.Sprintf("is no part of %s, which is that of the embedded %s: give the type a method of its own, or the embedded field a name", name, from.Name())}
			}
		}
	}
	return nil
}

// jsonOptions are the options of a json tag.
var jsonOptions = []string{"omitempty", "omitzero", "string"}

// slipInOptions finds an option of a json tag that was most likely meant to be
// another one.
func slipInOptions(tag string) (option, meant string) {
	_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	for option := range strings.SplitSeq(options, ",") {
		if option == "" || slices.Contains(jsonOptions, option) {
			continue
		}
		if near := Suggest(strings.TrimSpace(option), jsonOptions); near != "" {
			return option, near
		}
	}
	return "", ""
}
