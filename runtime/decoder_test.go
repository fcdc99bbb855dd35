package runtime

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func decoding(target, contentType, body string) *Decoder {
	r := httptest.NewRequest("POST", target, nil)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header["X-Version"] = []string{"3"}
	r.Header["X-Tag"] = []string{"a", "b"}
	request := newRequest(r, Rule{Body: BodyRaw, Headers: []string{"x-version", "x-tag"}}, []byte(body))
	return request.Decode()
}

func TestDecoderJSON(t *testing.T) {
	type line struct {
		Qty  int8   `json:"qty"`
		Note string `json:"note"`
	}
	type order struct {
		Lines []line    `json:"lines"`
		At    time.Time `json:"at"`
	}
	for _, c := range []struct {
		contentType, body string
		status            int
		says              string
	}{
		{"application/json", `{"lines":[{"qty":1}]}`, 0, ""},
		{"application/json; charset=utf-8", `{}`, 0, ""},
		{"application/merge-patch+json", `{}`, 0, ""},
		{"", `{} `, 0, ""},
		{"", ``, 0, ""},
		{"application/x-www-form-urlencoded", `{}`, 415, "not application/x-www-form-urlencoded"},
		{"//", `{}`, 415, "something unreadable"},
		{"application/json", ``, 400, "it is empty"},
		{"application/json", `{"lines":`, 400, "ends too early"},
		{"application/json", `{secret}`, 400, "syntax at byte 2"},
		{"application/json", `[]`, 400, "must be a JSON object"},
		{"application/json", `{"lines":[{"qty":"secret"}]}`, 400, `member "/lines/0/qty" must be a JSON integer in the range of int8`},
		{"application/json", `{"lines":[{"qty":300}]}`, 400, `member "/lines/0/qty"`},
		{"application/json", `{"lines":{}}`, 400, `member "/lines" must be a JSON array`},
		{"application/json", `{"at":"secret"}`, 400, "refuses"},
		{"application/json", `{} {}`, 400, "more than one JSON value"},
		{"application/json", `{}x`, 400, "more than one JSON value"},
	} {
		d := decoding("/", c.contentType, c.body)
		var v order
		d.JSON(&v)
		var own *Error
		switch {
		case c.status == 0 && d.Err() != nil:
			t.Errorf("%s %s: %v", c.contentType, c.body, d.Err())
		case c.status != 0 && (!errors.As(d.Err(), &own) || own.Status != c.status || !strings.Contains(own.Message, c.says)):
			t.Errorf("%s %s: %v, want %d that says %q", c.contentType, c.body, d.Err(), c.status, c.says)
		case c.status != 0 && strings.Contains(own.Message, "secret"):
			t.Errorf("the value is in the message: %s", own.Message)
		}
	}
}

type level int8

type ratio float32

func TestDecoderValues(t *testing.T) {
	d := decoding("/?n=-7&u=9&f=1.5&b=true&at=2026-01-02T03:04:05Z&tag=x&tag=y&empty=&d=1m30s", "", "")
	if got := QueryValue(d, "n", ParseInt[level]); got != -7 {
		t.Errorf("n is %d", got)
	}
	if got := QueryValue(d, "u", ParseUint[uint8]); got != 9 {
		t.Errorf("u is %d", got)
	}
	if got := QueryValue(d, "f", ParseFloat[float32]); got != 1.5 {
		t.Errorf("f is %v", got)
	}
	if got := QueryValue(d, "b", ParseBool[bool]); !got {
		t.Error("b is false")
	}
	if got := QueryValue(d, "d", ParseDuration[time.Duration]); got != 90*time.Second {
		t.Errorf("d is %v", got)
	}
	if got := QueryValue(d, "at", ParseText[time.Time]); got.Unix() != 1767323045 {
		t.Errorf("at is %v", got)
	}
	if got := QueryList(d, "tag", ParseString[string]); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("tag is %q", got)
	}
	if got := QueryPointer(d, "empty", ParseString[string]); got == nil || *got != "" {
		t.Errorf("empty is %v", got)
	}
	if got := QueryPointer(d, "absent", ParseInt[int]); got != nil {
		t.Errorf("absent is %v", got)
	}
	if got := QueryValue(d, "absent", ParseInt[int]); got != 0 {
		t.Errorf("absent is %v", got)
	}
	if got := QueryList(d, "absent", ParseInt[int]); got != nil {
		t.Errorf("absent is %v", got)
	}
	if got := HeaderValue(d, "X-Version", ParseInt[int]); got != 3 {
		t.Errorf("X-Version is %d", got)
	}
	if got := HeaderPointer(d, "X-Version", ParseInt[int]); got == nil || *got != 3 {
		t.Errorf("X-Version is %v", got)
	}
	if got := HeaderList(d, "X-Tag", ParseString[string]); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("X-Tag is %q", got)
	}
	if d.Err() != nil {
		t.Error(d.Err())
	}
}

func TestDecoderValueErrors(t *testing.T) {
	for query, c := range map[string]struct {
		read func(*Decoder)
		says string
	}{
		"n=secret":  {func(d *Decoder) { QueryValue(d, "n", ParseInt[int]) }, `The query parameter "n" must be an integer.`},
		"n=":        {func(d *Decoder) { QueryValue(d, "n", ParseInt[int]) }, "must be an integer"},
		"n=128":     {func(d *Decoder) { QueryValue(d, "n", ParseInt[level]) }, "is out of range"},
		"n=256":     {func(d *Decoder) { QueryValue(d, "n", ParseUint[uint8]) }, "is out of range"},
		"n=-1":      {func(d *Decoder) { QueryValue(d, "n", ParseUint[uint]) }, "must be an integer"},
		"n=1e39":    {func(d *Decoder) { QueryValue(d, "n", ParseFloat[float32]) }, "is out of range"},
		"n=NaN":     {func(d *Decoder) { QueryValue(d, "n", ParseFloat[float64]) }, "is out of range"},
		"n=x":       {func(d *Decoder) { QueryValue(d, "n", ParseFloat[float64]) }, "must be a number"},
		"n=yes":     {func(d *Decoder) { QueryValue(d, "n", ParseBool[bool]) }, "must be true or false"},
		"n=never":   {func(d *Decoder) { QueryValue(d, "n", ParseText[time.Time]) }, "its type refuses"},
		"n=30":      {func(d *Decoder) { QueryValue(d, "n", ParseDuration[time.Duration]) }, "must be a duration with a unit, such as 30s"},
		"n=99999d":  {func(d *Decoder) { QueryValue(d, "n", ParseDuration[time.Duration]) }, "must be a duration with a unit"},
		"n=1&n=2":   {func(d *Decoder) { QueryValue(d, "n", ParseInt[int]) }, "stands there 2 times"},
		"n=1&n=two": {func(d *Decoder) { QueryList(d, "n", ParseInt[int]) }, "must be an integer"},
		"":          {func(d *Decoder) { HeaderValue(d, "X-Tag", ParseString[string]) }, `The header "X-Tag" stands there 2 times`},
	} {
		d := decoding("/?"+query, "", "")
		c.read(d)
		var own *Error
		if !errors.As(d.Err(), &own) || own.Status != 400 || !strings.Contains(own.Message, c.says) || strings.Contains(own.Message, "secret") {
			t.Errorf("?%s: %v, want 400 that says %q", query, d.Err(), c.says)
		}
		first := d.Err()
		d.JSON(&struct{}{})
		PathValue(d, "id", ParseInt[int])
		if d.Err() != first {
			t.Errorf("?%s: a later failure took the first one's place", query)
		}
	}
}

type validated struct{ err error }

func (v validated) Validate() error { return v.err }

type validatedInTime struct{ err error }

func (v validatedInTime) Validate(ctx context.Context) error {
	if ctx == nil {
		return errors.New("there is no context")
	}
	return v.err
}

func TestDecoderValidate(t *testing.T) {
	for want, err := range map[int]error{
		422: errors.New("qty must be positive"),
		404: &Error{Status: 404, Message: "no such sku"},
	} {
		d := decoding("/", "", "")
		d.Validate(validated{err})
		inTime := decoding("/", "", "")
		inTime.ValidateContext(validatedInTime{err})
		for _, d := range []*Decoder{d, inTime} {
			if status, _ := statusOf(d.Err()); status != want || !strings.Contains(d.Err().Error(), err.Error()) {
				t.Errorf("%v became %v", err, d.Err())
			}
		}
	}
	d := decoding("/", "", "")
	if d.Validate(validated{}); d.Err() != nil {
		t.Error(d.Err())
	}
}

func TestRequestShowsTheAllowlistOnly(t *testing.T) {
	r := httptest.NewRequest("POST", "http://shop.example/a%2Fb?q=1", nil)
	r.Header.Set("X-Listed", "1")
	r.Header.Set("X-Other", "2")
	request := newRequest(r, Rule{Headers: []string{"x-listed", "host"}}, nil)
	if request.Header.Get("X-Listed") != "1" || request.Header.Get("X-Other") != "" || request.Header.Get("Host") != "shop.example" {
		t.Errorf("header %v", request.Header)
	}
	if request.URI != "/a%2Fb?q=1" || request.Query().Get("q") != "1" {
		t.Errorf("URI %q, query %v", request.URI, request.Query())
	}
}

func TestResponseHeaders(t *testing.T) {
	r, err := JSON(201, map[string]int{"id": 7})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	SetHeader(r, "Location", "/v1/orders/7", FormatString[string])
	SetHeader(r, "X-Empty", "", FormatString[string])
	SetHeader(r, "X-Int", level(-3), FormatInt[level])
	SetHeader(r, "X-Uint", uint(3), FormatUint[uint])
	SetHeader(r, "X-Took", 90*time.Second, FormatDuration[time.Duration])
	SetHeader(r, "X-Float", ratio(0.1), FormatFloat[ratio])
	SetHeader(r, "X-Max", math.MaxFloat64, FormatFloat[float64])
	SetHeader(r, "X-Bool", false, FormatBool[bool])
	SetHeaderPointer(r, "X-At", &at, FormatText[time.Time])
	SetHeaderPointer[string](r, "X-Nil", nil, FormatString[string])
	SetHeaderList(r, "Link", []string{"<a>", "", "<b>"}, FormatString[string])
	want := http.Header{
		"Content-Type": {"application/json"}, "Location": {"/v1/orders/7"}, "X-Int": {"-3"}, "X-Uint": {"3"}, "X-Float": {"0.1"}, "X-Took": {"1m30s"},
		"X-Max": {"1.7976931348623157e+308"}, "X-Bool": {"false"}, "X-At": {"2026-01-02T03:04:05Z"}, "Link": {"<a>", "<b>"},
	}
	if r.Err() != nil || string(r.Body) != `{"id":7}` || r.Status != 201 || len(r.Header) != len(want) {
		t.Errorf("%d %s %v, %v", r.Status, r.Body, r.Header, r.Err())
	}
	for name := range want {
		if !slices.Equal(r.Header[name], want[name]) {
			t.Errorf("%s is %q, want %q", name, r.Header[name], want[name])
		}
	}
	empty := NoContent(204)
	SetHeader(empty, "X-At", time.Time{}.AddDate(20000, 0, 0), FormatText[time.Time])
	if empty.Err() == nil || !strings.Contains(empty.Err().Error(), "header X-At") {
		t.Errorf("a header that does not format: %v", empty.Err())
	}
	SetHeader(empty, "X-A", "b", FormatString[string])
	if empty.Header.Get("X-A") != "b" {
		t.Errorf("header %v", empty.Header)
	}
}
