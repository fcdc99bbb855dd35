package runtime

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type strictBase struct {
	Note string `json:"note,omitempty"`
}

type strictLine struct {
	SKU string `json:"sku"`
}

type strictOrder struct {
	strictBase
	ID     string                `path:"id"`
	Tenant string                `json:"-" header:"X-Tenant"`
	Amount int                   `json:"amount"`
	Lines  []strictLine          `json:"lines,omitempty"`
	Named  map[string]strictLine `json:"named,omitzero"`
	Any    any                   `json:"any,omitempty"`
	Raw    json.RawMessage       `json:"raw,omitempty"`
	Maybe  *strictLine           `json:"maybe"`
}

type strictOptional struct {
	Note string `json:"note,omitempty"`
	More *int   `json:"more"`
}

func TestJSONStrict(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		status            int
		says              string
	}{
		{"application/json", `{"amount":1}`, 0, ""},
		{"application/json", `{}`, 0, ""},
		{"application/json", `{"amount":1,"note":"n","lines":[{"sku":"a"}],"named":{"x":{"sku":"b"}},"maybe":null}`, 0, ""},
		{"application/json", `{"any":{"free":[{"of":1}]},"raw":{"x":1}}`, 0, ""},
		{"application/json", `{"amount":1,"amuont":2}`, 400, `member "/amuont" is not one`},
		{"application/json", `{"Amount":1}`, 400, `member "/Amount" is not one`},
		{"application/json", `{"lines":[{"sku":"a"},{"sku":"a","qty":2}]}`, 400, `member "/lines/1/qty"`},
		{"application/json", `{"named":{"x":{"y":1}}}`, 400, `member "/named/x/y"`},
		{"application/json", `{"maybe":{"y":1}}`, 400, `member "/maybe/y"`},
		{"application/json", `{"ID":"1"}`, 400, `member "/ID" is not one`},
		{"application/json", `{"Tenant":"1"}`, 400, `member "/Tenant" is not one`},
		{"application/json", `{"amount":1,"amount":2}`, 400, "stands there twice"},
		{"application/json", `null`, 400, `with the member "/amount"`},
		{"application/json", ` `, 400, `with the member "/amount"`},
		{"", ``, 400, `with the member "/amount"`},
		{"text/plain", `{"x":1}`, 415, "must be application/json"},
		{"application/json", `{"amount":"x","y":1}`, 400, `member "/y" is not one`},
		{"application/json", `{"amount":}`, 400, "syntax"},
	} {
		d := decoding("/", c.contentType, c.body)
		d.JSONStrict(&strictOrder{})
		var own *Error
		switch {
		case c.status == 0 && d.Err() != nil:
			t.Errorf("%s %s: %v", c.contentType, c.body, d.Err())
		case c.status != 0 && (!errors.As(d.Err(), &own) || own.Status != c.status || !strings.Contains(own.Message, c.says)):
			t.Errorf("%s %s: %v, want %d that says %q", c.contentType, c.body, d.Err(), c.status, c.says)
		}
	}
	for _, body := range []string{"", "null", "{}"} {
		contentType := "application/json"
		if body == "" {
			contentType = ""
		}
		d := decoding("/", contentType, body)
		if d.JSONStrict(&strictOptional{}); d.Err() != nil {
			t.Errorf("%q has no required member: %v", body, d.Err())
		}
	}
}

type said struct {
	Status int    `json:"-"`
	Text   string `json:"text"`
}

func (s *said) HTTPStatus() int { return s.Status }

func TestJSONStatus(t *testing.T) {
	for status, want := range map[int]int{0: 200, 200: 200, 201: 201, 204: 204} {
		r, err := JSONStatus(&said{Status: status, Text: "x"}, 200, 201, 204)
		if err != nil || r.Status != want || (len(r.Body) > 0) != (want != 204) {
			t.Errorf("%d became %+v, %v", status, r, err)
		}
	}
	if r, err := JSONStatus((*said)(nil), 201); err != nil || r.Status != 201 || string(r.Body) != "null" {
		t.Errorf("a nil result became %+v, %v", r, err)
	}
	if _, err := JSONStatus(&said{Status: 202}, 200, 201); err == nil || !strings.Contains(err.Error(), "says status 202") {
		t.Errorf("a status that is not listed: %v", err)
	}
}
