package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
)

// document writes a problem in the form that a policy says.
func (s *settings) document(ctx context.Context, form ErrorForm, p Problem) (contentType string, body []byte) {
	if form == ErrorsJSON {
		// Strings always encode.
		body, _ = json.Marshal(struct {
			Error   string `json:"error"`
			Message string `json:"message"`
		}{p.Code, p.Detail})
		return "application/json", body
	}
	doc := document{}
	doc.text("type", p.Type)
	doc.text("title", p.Title)
	doc.raw("status", strconv.AppendInt(nil, int64(p.Status), 10))
	doc.text("detail", p.Detail)
	doc.text("error", p.Code)
	doc.text("message", p.Detail)
	doc.text("retry", string(p.Retry))
	if p.RetryAfter > 0 {
		doc.raw("retry_after_ms", strconv.AppendInt(nil, p.RetryAfter.Milliseconds(), 10))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Members)) {
		if reservedMembers[name] {
			continue
		}
		value, err := marshalMember(p.Members[name])
		if err != nil {
			s.say(ctx, slog.LevelError, "a member of a problem document does not encode and is left out",
				slog.String("code", p.Code), slog.String("member", name), slog.Any("error", err))
			continue
		}
		doc.raw(name, value)
	}
	return "application/problem+json", doc.end()
}

// reservedMembers are those whose meaning the runtime decides: clients act on
// them.
var reservedMembers = map[string]bool{
	"type": true, "title": true, "status": true, "detail": true,
	"error": true, "message": true, "retry": true, "retry_after_ms": true,
}

// marshalMember encodes a value of the service, whose marshaler may panic.
func marshalMember(v any) (text []byte, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("its marshaler panicked: %v", failure)
		}
	}()
	return json.Marshal(v)
}

// document is a JSON object whose members keep the order in which they were
// written.
type document struct{ buffer bytes.Buffer }

func (d *document) raw(name string, value []byte) {
	if d.buffer.Len() == 0 {
		d.buffer.WriteByte('{')
	} else {
		d.buffer.WriteByte(',')
	}
	// Strings always encode.
	key, _ := json.Marshal(name)
	d.buffer.Write(key)
	d.buffer.WriteByte(':')
	d.buffer.Write(value)
}

func (d *document) text(name, value string) {
	text, _ := json.Marshal(value)
	d.raw(name, text)
}

func (d *document) end() []byte {
	d.buffer.WriteByte('}')
	return d.buffer.Bytes()
}
