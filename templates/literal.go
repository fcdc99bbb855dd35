package templates

import (
	"net/http"
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"
)

// duration writes a duration in the largest unit that divides it: 30s as
// 30 * time.Second, an hour as time.Hour.
func (f *file) duration(d time.Duration) jen.Code {
	units := []struct {
		size time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}, {time.Nanosecond, "Nanosecond"},
	}
	for _, unit := range units {
		switch {
		case d == 0 || d%unit.size != 0:
			continue
		case d == unit.size:
			return f.qual(timePackage, unit.name)
		default:
			return number(int64(d / unit.size)).Op("*").Add(f.qual(timePackage, unit.name))
		}
	}
	return number(0)
}

// size writes a number of bytes with a shift where it is whole KiB or MiB.
func size(n int64) *jen.Statement {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return number(n >> 20).Op("<<").Add(number(20))
	case n >= 1<<10 && n%(1<<10) == 0:
		return number(n >> 10).Op("<<").Add(number(10))
	default:
		return number(n)
	}
}

// number writes an untyped constant.
func number(n int64) *jen.Statement { return jen.Op(strconv.FormatInt(n, 10)) }

// status writes an HTTP status, by name where net/http has one.
func (f *file) status(code int) *jen.Statement {
	if name, ok := statusNames[code]; ok {
		return f.qual(httpPackage, name)
	}
	return number(int64(code))
}

// method writes an HTTP method, by name where net/http has one.
func (f *file) method(method string) *jen.Statement {
	if name, ok := methodNames[method]; ok {
		return f.qual(httpPackage, name)
	}
	return jen.Lit(method)
}

var methodNames = map[string]string{
	http.MethodPost:    "MethodPost",
	http.MethodPut:     "MethodPut",
	http.MethodPatch:   "MethodPatch",
	http.MethodDelete:  "MethodDelete",
	http.MethodConnect: "MethodConnect",
}

// statusNames has the statuses that an endpoint may succeed with.
var statusNames = map[int]string{
	http.StatusOK:                   "StatusOK",
	http.StatusCreated:              "StatusCreated",
	http.StatusAccepted:             "StatusAccepted",
	http.StatusNonAuthoritativeInfo: "StatusNonAuthoritativeInfo",
	http.StatusNoContent:            "StatusNoContent",
	http.StatusResetContent:         "StatusResetContent",
	http.StatusPartialContent:       "StatusPartialContent",
	http.StatusMultiStatus:          "StatusMultiStatus",
	http.StatusAlreadyReported:      "StatusAlreadyReported",
	http.StatusIMUsed:               "StatusIMUsed",
	http.StatusMultipleChoices:      "StatusMultipleChoices",
	http.StatusMovedPermanently:     "StatusMovedPermanently",
	http.StatusFound:                "StatusFound",
	http.StatusSeeOther:             "StatusSeeOther",
	http.StatusUseProxy:             "StatusUseProxy",
	http.StatusTemporaryRedirect:    "StatusTemporaryRedirect",
	http.StatusPermanentRedirect:    "StatusPermanentRedirect",
}
