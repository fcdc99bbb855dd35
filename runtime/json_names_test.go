package runtime

import (
	"encoding/json"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"time"
)

type embedded struct {
	Note string `json:"note"`
}

// quirky has a method of its own that folds names, as many do.
type quirky struct{ Qty int }

func (q *quirky) UnmarshalJSON(text []byte) error {
	type plain quirky
	return json.Unmarshal(text, (*plain)(q))
}

type named struct {
	Qty    int                 `json:"qty"`
	Lower  int                 `json:"x"`
	Upper  int                 `json:"X"`
	Lines  []embedded          `json:"lines"`
	Prices map[string]int      `json:"prices"`
	Rows   map[int8]int        `json:"rows"`
	Times  map[time.Time]int   `json:"times"`
	Any    any                 `json:"any"`
	Raw    json.RawMessage     `json:"raw"`
	Quirky *quirky             `json:"quirky"`
	Next   *named              `json:"next"`
	Groups map[string]*named   `json:"groups"`
	Array  [2]embedded         `json:"array"`
	Hidden int                 `json:"-"`
	Deep   map[string][]quirky `json:"deep"`
	embedded
}

// Two members that stand for one are found where encoding/json would take the
// last of them, and nowhere else.
func TestNamesClash(t *testing.T) {
	for text, pointer := range map[string]string{
		`{"qty":1,"qty":2}`:                                             "/qty",
		`{"qty":1,"QTY":100}`:                                           "/qty",
		`{"QTY":100,"qty":1}`:                                           "/qty",
		`{"Qty":100,"qTy":1}`:                                           "/qty",
		` { "qty" : 1 , "\u0071ty" : 2 } `:                              "/qty",
		`{"lineſ":[],"lines":[]}`:                                       "/lines",
		`{"Kelvin":1,"Kelvin":2}`:                                       "/Kelvin",
		`{"note":"a","NOTE":"b"}`:                                       "/note",
		`{"lines":[{},{"note":"","Note":""}]}`:                          "/lines/1/note",
		`{"array":[{},{"note":"","Note":""}]}`:                          "/array/1/note",
		`{"next":{"next":{"qty":1,"QTY":1}}}`:                           "/next/next/qty",
		`{"groups":{"a/b":{"qty":1,"QTY":1}}}`:                          "/groups/a~1b/qty",
		`{"prices":{"a":1,"a":2}}`:                                      "/prices/a",
		`{"rows":{"7":1,"07":2}}`:                                       "/rows/7",
		`{"times":{"2026-01-02T03:04:05Z":1,"2026-01-02t03:04:05z":1}}`: "/times/2026-01-02T03:04:05Z",
		`{"any":{"a":[{"b":1,"b":2}]}}`:                                 "/any/a/0/b",
		`{"raw":{"a":1,"A":2}}`:                                         "/raw/A",
		`{"quirky":{"qty":1,"QTY":2}}`:                                  "/quirky/QTY",
		`{"deep":{"a":[{"qty":1,"QTY":2}]}}`:                            "/deep/a/0/QTY",
		"{\"\xff\":1,\"\xfe\":2}":                                       "/\ufffd",
		`{"unread":1,"unread":2}`:                                       "/unread",
		`{"x":1,"X":2,"x":3}`:                                           "/x",
	} {
		if c := namesClash([]byte(text), reflect.TypeFor[*named]()); c == nil || c.deep || c.pointer() != pointer {
			t.Errorf("%s: %+v, want %q", text, c, pointer)
		}
	}
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return b.String()
	}
	for _, text := range []string{
		`{}`, `[]`, `null`, `1`, `"a"`, ``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"qty":1,"QTY"`, `[1,`, `{x}`, `"`, `{"a\`, `{"qty":1]`,
		`{"qty":1,"lines":[{"note":"a"},{"note":"b"}],"next":{"qty":1}}`,
		`{"x":1,"X":2}`,
		`{"prices":{"a":1,"A":2},"any":{"a":1,"A":2}}`,
		`{"unread":1,"UNREAD":2}`, `{"unread":{"a":1,"A":2}}`,
		`{"rows":{"7":1,"8":2,"x":3,"18446744073709551615":1}}`,
		`{"hidden":1,"Hidden":2}`,
		`{"prices":{` + many(`"%d":1`, 100) + `"A":1,"a":1}}`,
	} {
		if c := namesClash([]byte(text), reflect.TypeFor[*named]()); c != nil {
			t.Errorf("%s: %+v", text, c)
		}
	}
	if c := namesClash([]byte(`{"prices":{`+many(`"%d":1`, 100)+`"7":1}}`), reflect.TypeFor[named]()); c == nil || c.pointer() != "/prices/7" {
		t.Errorf("one of many: %+v", c)
	}
}

// Nesting is bounded in what is decoded.
func TestDepthIsBounded(t *testing.T) {
	for depth, ok := range map[int]bool{2: true, 127: true, 128: true, 129: false, 500_000: false} {
		text := []byte(`{"any":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
		if c := namesClash(text, reflect.TypeFor[named]()); (c == nil) != ok || c != nil && !c.deep {
			t.Errorf("%d levels: %+v", depth, c)
		}
		d := decoding("/", "application/json", string(text))
		if d.JSON(&named{}); (d.Err() == nil) != ok {
			t.Errorf("%d levels: %v", depth, d.Err())
		}
	}
}

// However a body of 1 MiB is made, the look at its names and its canonical form
// take a small multiple of it.
func TestMemoryOfJSONIsBounded(t *testing.T) {
	const n = 1 << 20
	repeat := func(open, unit, closing string) string {
		return open + strings.Repeat(unit, (n-len(open)-len(closing))/len(unit)) + closing
	}
	var members strings.Builder
	for i := n; members.Len() < n; i-- {
		fmt.Fprintf(&members, `"%d":0,`, i)
	}
	for name, text := range map[string]string{
		"deep and unsorted": strings.Repeat(`{"b":0,"a":`, 120) + `"` + strings.Repeat("x", n) + `"` + strings.Repeat("}", 120),
		"small objects":     repeat(`[0`, `,{"b":0,"a":0}`, `]`),
		"lists":             repeat(`[0`, `,[]`, `]`),
		"numbers":           repeat(`[0`, `,1.5e1`, `]`),
		"escapes":           repeat(`"`, `\u0000`, `"`),
		"members":           "{" + members.String() + `"a":0}`,
	} {
		for what, look := range map[string]func(){
			"canonical form": func() { canonicalJSON([]byte(text)) },
			"names":          func() { namesClash([]byte(text), nil) },
			"decoding":       func() { decoding("/", "application/json", text).JSON(new(any)) },
		} {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			look()
			goruntime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 48*n {
				t.Errorf("%s, %s: %d KiB were taken for a body of %d KiB", name, what, taken>>10, len(text)>>10)
			}
		}
	}
}
