package deploy_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// fresh is a request under a new key: an order, or the cancellation of one that
// was placed before, which runs in a transaction. The key of an order is its
// SKU, and that of its cancellation begins with "cancel ", so that effects can be
// counted by key. Both take a moment, so that concurrent requests meet.
func (c *client) fresh() request {
	r := request{method: "POST", contentType: "application/json", version: c.version(), number: 1 + c.random.IntN(9)}
	if n := len(c.placed); n > 0 && c.random.IntN(2) == 0 {
		l := c.placed[n-1]
		c.placed = c.placed[:n-1]
		var order struct{ ID int64 }
		json.Unmarshal([]byte(l.answer.body), &order)
		r.key, r.path = "cancel "+l.key, fmt.Sprintf("/v1/orders/%d/cancel", order.ID)
		r.form = `{"simulate":{"delay_ms":%d}}`
		return r
	}
	r.key, r.path = fmt.Sprintf("%s-%d", c.name, len(c.keys)), "/v1/orders"
	r.form = `{"sku":"` + r.key + `","qty":%d,"simulate":{"delay_ms":2}}`
	return r
}

// places reports whether the request places an order.
func (r request) places() bool { return !strings.HasPrefix(r.key, "cancel ") }

// variant is what a client may send under a key that it has used.
type variant struct {
	name   string
	change func(*client, request) request
}

var variants = []variant{
	{"exact", func(_ *client, r request) request { return r }},
	{"version", (*client).otherVersion},
	{"body", (*client).otherBody},
	{"version and body", func(c *client, r request) request { return c.otherVersion(c.otherBody(r)) }},
	{"type", func(_ *client, r request) request {
		r.contentType += "; charset=utf-8"
		return r
	}},
	{"query", func(_ *client, r request) request {
		r.path += "?again"
		return r
	}},
}

// variant is one of them; every other one is the exact request.
func (c *client) variant() variant {
	if c.random.IntN(2) == 0 {
		return variants[0]
	}
	return variants[1+c.random.IntN(len(variants)-1)]
}

var versions = []string{"", "1", "2"}

func (c *client) version() string { return versions[c.random.IntN(len(versions))] }

func (c *client) otherVersion(r request) request {
	for was := r.version; r.version == was; r.version = c.version() {
	}
	return r
}

func (c *client) otherBody(r request) request {
	r.number = 1 + (r.number+c.random.IntN(8))%9
	return r
}
