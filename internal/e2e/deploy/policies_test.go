package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// No lease and no retention ends by itself while the tests run: rows are made
// older instead. Refund is for the one handler that is let run into its
// deadline, and Create and Upload have one limit each.
var (
	earlierPolicies = []edit{
		{"//idem:lease 10s timeout=8s\n", "//idem:lease 10m timeout=9m\n"},
	}
	laterPolicies = []edit{
		{"//idem:lease 10s timeout=8s\n", "//idem:lease 2m timeout=1m\n"},
		{"//idem:retain 24h\n", "//idem:retain 1h gone=1h\n"},
		{"//idem:api prefix=/v1\n", "//idem:api prefix=/v1 errors=json\n"},
		{"POST /orders status=201\n", "POST /orders status=201 name=orders.create\n"},
		{"//idem:request max=64KiB\n", "//idem:request max=1KiB\n"},
		{"PUT /orders/{id}/receipt\n", "PUT /orders/{id}/receipt\n\t//idem:response max=1KiB\n"},
		{"POST /refunds\n", "POST /refunds\n\t//idem:lease 2m timeout=1s\n"},
	}
)

const (
	problemJSON = "application/problem+json"
	plainJSON   = "application/json"
)

// All but the allowlist changes in a deploy, while retries are in flight: the
// outcome is what docs/semantics.md says, in whichever direction.
func TestPoliciesChange(t *testing.T) {
	earlier, later := build(t, earlierPolicies...), build(t, laterPolicies...)
	t.Run("a shorter lease", func(t *testing.T) { ownerDies(t, owned{earlier, 10}, owned{later, 2}, plainJSON) })
	t.Run("a longer lease", func(t *testing.T) { ownerDies(t, owned{later, 2}, owned{earlier, 10}, problemJSON) })

	db := newDatabase(t)
	p := pair{db, db.start(t, earlier), db.start(t, later)}
	t.Run("timeout", p.timeout)
	t.Run("retention", p.retention)
	t.Run("request limit", p.requestLimit)
	t.Run("response limit", p.responseLimit)
	t.Run("form of errors", p.errors)
	t.Run("operation", p.operation)
}

// pair is two releases that serve one database.
type pair struct {
	database
	earlier, later *process.Server
}

// A handler has the time of the release that runs it. The other one, which would
// have given it minutes, replays how it ended.
func (p pair) timeout(t *testing.T) {
	id := p.placed(t, "refunded")
	r := request{method: "POST", path: "/v1/refunds", key: "late", contentType: plainJSON,
		form: fmt.Sprintf(`{"order_id":%d,"amount":%%d,"simulate":{"delay_ms":3600000}}`, id), number: 1}
	first := r.want(t, p.later, 500, "")
	r.wantReplay(t, p.earlier, first)
	p.wantCount(t, 0, `SELECT count(*) FROM refunds`)
}

// An answer is kept for as long as was promised when it was given.
func (p pair) retention(t *testing.T) {
	long, short := order("kept for a day"), order("kept for an hour")
	day := long.want(t, p.earlier, 201, "")
	hour := short.want(t, p.later, 201, "")
	short.wantReplay(t, p.earlier, hour)

	p.age(t, 90) // minutes: the hour is over
	long.wantReplay(t, p.later, day)
	short.want(t, p.earlier, 410, "idempotency_key_expired")
	short.want(t, p.later, 410, "idempotency_key_expired")

	p.age(t, 60) // and so is the hour in which the key was remembered
	long.wantReplay(t, p.later, day)
	hour = short.want(t, p.earlier, 201, "") // under a day's promise now
	p.age(t, 180)
	short.wantReplay(t, p.later, hour)

	p.age(t, 24*60)
	long.want(t, p.later, 201, "")
	p.wantCount(t, 2, `SELECT count(*) FROM orders WHERE sku = $1`, long.key)
	p.wantCount(t, 2, `SELECT count(*) FROM orders WHERE sku = $1`, short.key)
}

// A body over the limit of the release that is asked is refused before its key
// is looked at: nothing runs, and the row stays for the release that takes it.
func (p pair) requestLimit(t *testing.T) {
	for _, key := range []string{"large first", "large later"} {
		r := order(key)
		r.form += strings.Repeat(" ", 2<<10)
		if key == "large later" {
			r.want(t, p.later, 413, "request_body_too_large")
			p.wantCount(t, 0, `SELECT count(*) FROM idempotency_keys WHERE key = convert_to($1, 'UTF8')`, key)
		}
		first := r.want(t, p.earlier, 201, "")
		r.want(t, p.later, 413, "request_body_too_large")
		r.wantReplay(t, p.earlier, first)
		p.wantCount(t, 1, `SELECT count(*) FROM orders WHERE sku = $1`, key)
	}
}

// What was kept is replayed whole by a release that would not keep as much, and
// what was too large to be kept stays so.
func (p pair) responseLimit(t *testing.T) {
	id := p.placed(t, "with receipts")
	r := request{method: "PUT", path: fmt.Sprintf("/v1/orders/%d/receipt", id), key: "fits", contentType: "text/plain",
		form: strings.Repeat("receipt ", 300) + "%d", number: 1}
	first := r.want(t, p.earlier, 200, "")
	if first.body != r.body() {
		t.Errorf("the receipt came back as %q", first.body)
	}
	r.wantReplay(t, p.later, first)
	r.key = "does not fit"
	first = r.want(t, p.later, 500, "idempotency_response_too_large")
	r.wantReplay(t, p.earlier, first)
	p.wantCount(t, 2, `SELECT count(*) FROM receipts WHERE order_id = $1`, id)
}

// An error that was stored is replayed in the form in which it was given. One
// that is not stored has the form of the release that gives it.
func (p pair) errors(t *testing.T) {
	for _, s := range []struct {
		ran, asked        *process.Server
		form, formOfAsked string
	}{
		{p.earlier, p.later, problemJSON, plainJSON},
		{p.later, p.earlier, plainJSON, problemJSON},
	} {
		r := order("fails under " + s.form)
		r.form = strings.Replace(r.form, "}", `,"simulate":{"outcome":"error"}}`, 1)
		first := r.want(t, s.ran, 500, "internal_error")
		wantForm(t, first, s.form)
		r.wantReplay(t, s.asked, first)
		r.number++
		wantForm(t, r.want(t, s.asked, 422, "idempotency_key_reused"), s.formOfAsked)
		wantForm(t, r.want(t, s.ran, 422, "idempotency_key_reused"), s.form)
		p.wantCount(t, 0, `SELECT count(*) FROM orders WHERE sku = $1`, r.key)
	}
}

// Under scope principal a key is the caller's, whatever the operation is called.
func (p pair) operation(t *testing.T) {
	for _, s := range []struct {
		ran, asked *process.Server
		name       string
	}{
		{p.earlier, p.later, "POST /v1/orders"},
		{p.later, p.earlier, "orders.create"},
	} {
		r := order("under " + s.name)
		first := r.want(t, s.ran, 201, "")
		r.wantReplay(t, s.asked, first)
		p.wantCount(t, 1, `SELECT count(*) FROM idempotency_keys WHERE key = convert_to($1, 'UTF8') AND operation = $2`, r.key, s.name)
		p.wantCount(t, 1, `SELECT count(*) FROM orders WHERE sku = $1`, r.key)
	}
}
