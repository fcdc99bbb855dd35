package faults

import (
	"fmt"
	"strings"
)

// payment is one thing that a client wants to have done once.
type payment struct {
	request        *Request
	principal, key string
	reference      string
	number, amount int64
}

// fill fills a template.
func (p payment) fill(template string) string {
	return strings.NewReplacer(
		"{key}", p.key, "{principal}", p.principal, "{reference}", p.reference,
		"{number}", fmt.Sprint(p.number), "{amount}", fmt.Sprint(p.amount),
	).Replace(template)
}

// row is the key as the ledger has it: the header that carried it, in full.
func (p payment) row() string {
	for _, value := range p.request.Header {
		if strings.Contains(value, "{key}") {
			return p.fill(value)
		}
	}
	return p.key
}

// differs reports whether another amount makes another request.
func (r *Request) differs() bool { return strings.Contains(r.Body+r.Path, "{amount}") }
