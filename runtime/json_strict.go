package runtime

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// JSONStrict is [Decoder.JSON] for endpoints with //idem:request strict: it
// refuses a member that the type of v does not name, letter for letter, and a
// member that path, query or a header fills, and a body that is absent or null
// where the type has members that must be there: those which are no pointers,
// and not marked omitempty or omitzero. What a type reads by a method of its
// own is that method's affair.
func (d *Decoder) JSONStrict(v any) {
	if d.err != nil {
		return
	}
	into := reflect.TypeOf(v)
	body := bytes.TrimSpace(d.request.Body)
	if absent := len(body) == 0; absent || string(body) == "null" {
		if name := requiredMember(into); name != "" {
			rule := "must be a JSON object with the member " + fmt.Sprintf("%q", "/"+escapePointer(name))
			d.refuse(invalid(nil, "The body is not the JSON that is expected: it "+rule+".", FieldError{Pointer: "/" + escapePointer(name), Detail: "It is missing."}))
			return
		}
	}
	r := nameReader{in: d.request.Body, strict: true}
	r.value(shapeOf(into), 0)
	if r.clash != nil && isJSONOrAbsent(d.request.http.Header.Get("Content-Type")) {
		d.refuse(r.clash.refusal())
		return
	}
	d.JSON(v)
}

// isJSONOrAbsent reports whether a body of a media type is read at all.
func isJSONOrAbsent(contentType string) bool { return contentType == "" || isJSON(contentType) }

// requiredMember is the first member of a struct that a body must have, or "".
func requiredMember(t reflect.Type) string {
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || readsItself(t) {
		return ""
	}
	for i := range t.NumField() {
		field := t.Field(i)
		tag, tagged := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tagged && tag == "-", outsideBody(field.Tag):
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct && !readsItself(field.Type):
			if inner := requiredMember(field.Type); inner != "" {
				return inner
			}
		case !field.IsExported(), field.Type.Kind() == reflect.Pointer, strings.Contains(","+options+",", ",omitempty,"), strings.Contains(","+options+",", ",omitzero,"):
		case name == "":
			return field.Name
		default:
			return name
		}
	}
	return ""
}

// outsideBody reports whether a tag puts its field into path, query or header.
func outsideBody(tag reflect.StructTag) bool {
	for _, key := range []string{"path", "query", "header"} {
		if value, ok := tag.Lookup(key); ok && value != "-" {
			return true
		}
	}
	return false
}
