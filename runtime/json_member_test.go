package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// currency refuses what it does not know, and says so to whoever may see it.
type currency string

func (c *currency) UnmarshalText(text []byte) error {
	switch string(text) {
	case "EUR":
	case "OLD":
		return &Error{Status: 422, Code: "currency_retired", Message: "That currency is no longer used.", Cause: errors.New("table of 2002")}
	case "DOWN":
		return &Error{Status: 503, Code: "currencies_unknown", Message: "Currencies cannot be looked up.", RetryAfter: time.Second}
	default:
		return fmt.Errorf("no currency in table %d", 17)
	}
	*c = currency(text)
	return nil
}

type money struct {
	Amount   json.Number `json:"amount"`
	Currency currency    `json:"currency"`
}

type price struct {
	money
	Net   int8             `json:"net,string"`
	Notes map[string]money `json:"notes"`
}

type basket struct {
	price
	Lines []*price       `json:"lines"`
	Rates map[int8]int   `json:"rates"`
	Pair  [2]currency    `json:"a/b~c"`
	At    *time.Time     `json:"at"`
	Any   any            `json:"any"`
	More  []basket       `json:"more"`
	Codes map[string]any `json:"codes"`
}

func TestRefusedMember(t *testing.T) {
	for body, want := range map[string]string{
		`{"currency":"XXX"}`:                                      "/currency",
		`{"CURRENCY":"XXX"}`:                                      "/currency",
		`{"amount":1,"currency":"XXX","net":"x"}`:                 "/currency",
		`{"net":12}`:                                              "/net",
		`{"lines":[{"currency":"EUR"},{"currency":"XXX"}]}`:       "/lines/1/currency",
		`{"lines":[null,{"net":"1"},{"amount":"x"}]}`:             "/lines/2/amount",
		`{"lines":{}}`:                                            "/lines",
		`{"notes":{"a/b":{"currency":"EUR"},"x~":{"amount":[]}}}`: "/notes/x~0/amount",
		`{"rates":{"1":2,"x":3}}`:                                 "/rates/x",
		`{"rates":{"1":2,"3":"x"}}`:                               "/rates/3",
		`{"a/b~c":["EUR","XXX"]}`:                                 "/a~1b~0c/1",
		`{"at":"yesterday"}`:                                      "/at",
		`{"more":[{"more":[{"more":[{"currency":7}]}]}]}`:         "/more/0/more/0/more/0/currency",
		`[1]`: "",
		`"x"`: "",
	} {
		refusal := json.Unmarshal([]byte(body), new(basket))
		if refusal == nil {
			t.Errorf("%s decodes", body)
			continue
		}
		pointer, why := refusedMember([]byte(body), reflect.TypeFor[*basket](), refusal)
		if pointer != want || why == nil {
			t.Errorf("%s: %q, %v, want %q", body, pointer, why, want)
		}
	}
}

// A body that is made to be searched costs no more than the budget, and names
// what was found until then.
func TestRefusedMemberIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"more":[`, 500) + `{"currency":"XXX"}` + strings.Repeat(`]}`, 500)
	wide := `{"notes":{"` + strings.Repeat("n", 10_000) + `":{"currency":"XXX"}}}`
	for _, body := range []string{deep, wide} {
		refusal := json.Unmarshal([]byte(body), new(basket))
		pointer, why := refusedMember([]byte(body), reflect.TypeFor[*basket](), refusal)
		if len(pointer) > maxPointer || !strings.HasPrefix(pointer, "/more/0") && pointer != "/notes" || why == nil {
			t.Errorf("%q, %v", pointer, why)
		}
	}
	s := memberSearch{budget: 100}
	if pointer, why := s.look([]byte(deep), reflect.TypeFor[basket](), errors.New("refused")); why == nil || s.budget > 0 {
		t.Errorf("%q, %v, %d left", pointer, why, s.budget)
	}
}

// What a type says reaches the caller where it has a status, and the log in any
// case.
func TestTypeThatRefuses(t *testing.T) {
	for _, c := range []struct {
		value        string
		status       int
		code, detail string
		cause        string
	}{
		{"XXX", 400, CodeRequestInvalid, "It has a value that its type refuses.", "table 17"},
		{"OLD", 422, "currency_retired", "That currency is no longer used.", "table of 2002"},
		{"DOWN", 503, "currencies_unknown", "Currencies cannot be looked up.", ""},
	} {
		body := decoding("/", "application/json", `{"currency":"`+c.value+`"}`)
		body.JSON(new(money))
		query := decoding("/?currency="+c.value, "", "")
		QueryValue(query, "currency", ParseText[currency])
		for field, d := range map[FieldError]*Decoder{
			{Pointer: "/currency", Detail: c.detail}:  body,
			{Parameter: "currency", Detail: c.detail}: query,
		} {
			var own *Error
			if !errors.As(d.Err(), &own) || own.Status != c.status || own.Code != c.code {
				t.Errorf("%s: %v", c.value, d.Err())
				continue
			}
			if got := own.Members["errors"]; !reflect.DeepEqual(got, []FieldError{field}) {
				t.Errorf("%s: errors are %v, want %v", c.value, got, field)
			}
			if own.Cause == nil || !strings.Contains(own.Cause.Error(), c.cause) {
				t.Errorf("%s: the cause is %v", c.value, own.Cause)
			}
			if c.status == 400 && strings.Contains(own.Message, "17") {
				t.Errorf("%s", own.Message)
			}
		}
	}
}
