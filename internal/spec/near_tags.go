package spec

import (
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// foreignTags are the keys by which other libraries say where a value stands,
// with the key that says it here.
var foreignTags = map[string]Place{
	"form": Query, "schema": Query, "url": Query, "qs": Query, "qry": Query, "querystring": Query, "query_param": Query, "queryparam": Query,
	"uri": Path, "param": Path, "params": Path, "pathparam": Path, "path_param": Path, "urlparam": Path,
	"hdr": Header, "reqheader": Header, "headerparam": Header, "http_header": Header,
}

// otherTags are keys that look like a slip of one of ours and are none.
var otherTags = []string{"patch", "paths"}

var tagKey = regexp.MustCompile(`(?:^|\s)([^\s":]+):"`)

// strayTags reports tags that look as if they said where a field's value
// stands, and of which nobody would take notice: near misses of our own, those
// of other libraries, a name in JSON beside a place outside it, and places in
// structs that only the JSON body reaches.
func (r *fieldReader) strayTags() {
	s, _ := structOf(r.root)
	r.strayIn(s, map[*types.Struct]bool{})
}

func (r *fieldReader) strayIn(s *types.Struct, seen map[*types.Struct]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	for i := range s.NumFields() {
		field, tag := s.Field(i), s.Tag(i)
		r.nearMiss(field, tag)
		r.twoNames(field, tag)
		elem, pointer := dereference(field.Type())
		inner, isStruct := structOf(elem)
		name, visible := jsonName(field, tag)
		switch {
		case field.Embedded() && isStruct && name == "" && !r.placed(tag):
			if !pointer { // behind a pointer tags have a problem of their own
				r.strayIn(inner, seen)
			}
		case visible && field.Exported() && !r.placed(tag):
			r.nested(field, field.Type(), field.Name(), map[types.Type]bool{})
		}
	}
}

// placed reports whether a tag puts its field outside the body.
func (r *fieldReader) placed(tag string) bool {
	if r.output {
		value, ok := reflect.StructTag(tag).Lookup(string(Header))
		return ok && value != "-"
	}
	return outsideBody(tag)
}

// nearMiss reports a tag that was most likely meant for us.
func (r *fieldReader) nearMiss(field *types.Var, tag string) {
	if option, meant := slipInOptions(tag); option != "" {
		r.report(field, CodeTag, "the option %q of the json tag says nothing (did you mean %s?)", option, meant)
		return
	}
	_, named := reflect.StructTag(tag).Lookup("json")
	hidden := reflect.StructTag(tag).Get("json") == "-"
	for _, match := range tagKey.FindAllStringSubmatch(tag, -1) {
		key := match[1]
		if slices.Contains(places, Place(key)) || slices.Contains(otherTags, key) {
			continue
		}
		for _, place := range places {
			if distance(strings.ToLower(key), string(place)) <= 1 && (!r.output || place == Header) {
				r.report(field, CodeTag, "the tag %s:%q says nothing (did you mean %s?)", key, reflect.StructTag(tag).Get(key), place)
				return
			}
		}
		place, foreign := foreignTags[strings.ToLower(key)]
		if foreign && !r.output && !r.placed(tag) && (!named || hidden) {
			r.report(field, CodeTag, "the tag %s:%q is that of another library and says nothing here: write %s:%q", key, reflect.StructTag(tag).Get(key), place, tagName(reflect.StructTag(tag).Get(key)))
			return
		}
		if strings.EqualFold(key, "json") && key != "json" {
			r.report(field, CodeTag, "the tag %s:%q says nothing (did you mean json?)", key, reflect.StructTag(tag).Get(key))
			return
		}
	}
}

// tagName is the name in a tag, without options.
func tagName(value string) string {
	name, _, _ := strings.Cut(value, ",")
	if name == "" {
		return "name"
	}
	return name
}

// twoNames reports a field of a request that has a name in the JSON body and a
// place outside it: what the body says would be overwritten.
func (r *fieldReader) twoNames(field *types.Var, tag string) {
	value, named := reflect.StructTag(tag).Lookup("json")
	if r.output || !named || value == "-" {
		return
	}
	for _, place := range places {
		if other, ok := reflect.StructTag(tag).Lookup(string(place)); ok && other != "-" {
			r.report(field, CodeTag, "json:%q and %s:%q stand on one field, which has one place: the value of the body would be overwritten; leave one out, or write json:\"-\"", value, place, other)
			return
		}
	}
}

// nested reports places in a struct that is a member of the body.
func (r *fieldReader) nested(member *types.Var, t types.Type, way string, seen map[types.Type]bool) {
	t = types.Unalias(t)
	if seen[t] || isInvalid(t) {
		return
	}
	seen[t] = true
	own := readsItself(t)
	if r.output {
		own = writesJSON(t) || implements(t, textMarshaler)
	}
	if own {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		r.nested(member, u.Elem(), way, seen)
	case *types.Slice:
		r.nested(member, u.Elem(), way+"[]", seen)
	case *types.Array:
		r.nested(member, u.Elem(), way+"[]", seen)
	case *types.Map:
		r.nested(member, u.Elem(), way+"[]", seen)
	case *types.Struct:
		elsewhere := r.elsewhere != nil && r.elsewhere(t)
		for i := range u.NumFields() {
			field, tag := u.Field(i), u.Tag(i)
			if !r.nestedPlace(member, field, tag, way, elsewhere) {
				continue
			}
			if _, visible := jsonName(field, tag); visible && (field.Exported() || field.Embedded()) {
				r.nested(member, field.Type(), way+"."+field.Name(), seen)
			}
		}
	}
}

// nestedPlace reports a place on a field inside a member, and whether there was
// none. In a result only headers have a place. A request that is shown in a
// result, and the reverse, keeps the headers of its own use.
func (r *fieldReader) nestedPlace(member, field *types.Var, tag, way string, elsewhere bool) bool {
	for _, place := range places {
		value, ok := reflect.StructTag(tag).Lookup(string(place))
		if !ok || value == "-" || r.output && place != Header || place == Header && elsewhere {
			continue
		}
		r.report(member, CodeTag, "%s.%s has the tag %s:%q, which is read of the struct itself and of what it embeds only: embed the type, or move the field", way, field.Name(), place, value)
		return false
	}
	return true
}
