package shop_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// An order is charged once, at a service of its own, whether its first try ends
// in an answer or in a kill.
func TestOrdersAreChargedOnce(t *testing.T) {
	paid := process.Start(t, paying, "-addr", "127.0.0.1:0", "-db", filepath.Join(t.TempDir(), "payments.db"))
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			db, sku := d.create(t), "sku of "+d.name
			s := d.start(t, db, "-payments", paid.URL)
			order := create("k "+sku, `{"sku":"`+sku+`","qty":2}`)
			first := order.want(t, s, 201, "")
			s.Kill()
			s = d.start(t, db, "-payments", paid.URL)
			wantSame(t, first, order.want(t, s, 201, ""))
			wantCharges(t, paid, sku, 1, 500)
			create("l "+sku, `{"sku":"`+sku+`","qty":2}`).want(t, s, 201, "")
			wantCharges(t, paid, sku, 2, 1000)
		})
	}
}

func wantCharges(t *testing.T, paid *process.Server, reference string, number, cents int) {
	t.Helper()
	a := call{method: "GET", path: "/charges"}.do(t, paid)
	var list struct {
		Charges []struct {
			Reference string
			Cents     int
		}
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	n, sum := 0, 0
	for _, c := range list.Charges {
		if c.Reference == reference {
			n++
			sum += c.Cents
		}
	}
	if n != number || sum != cents {
		t.Errorf("%d charges of %d cents for %s; want %d of %d", n, sum, reference, number, cents)
	}
}
