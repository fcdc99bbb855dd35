package faults

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/prove/faults"
)

// target is the checkout on a database, with a process for each binary.
func target(name string, d *faults.Database, binaries []string, paid *sql.DB, payments *faults.Line, extra ...string) *faults.Target {
	t := &faults.Target{
		Name: name, Database: d, Requests: requests(paid), Table: "idempotency_keys",
		Services: map[string]*faults.Line{"payments": payments},
		Lease:    2 * time.Second, MustLive: true,
		Squeeze: func(random *rand.Rand) []string { return []string{"-connections", fmt.Sprint(1 + random.IntN(2))} },
		Waits:   waits,
	}
	for _, binary := range binaries {
		t.Servers = append(t.Servers, append([]string{"DATABASE_URL={db}", binary, "-addr", "{listen}", "-payments", "http://{payments}"}, extra...))
	}
	return t
}

// requests are the checkout's, each with another way in which its effect and
// its answer come to stand together. Paid is the payment service's database.
func requests(paid *sql.DB) []*faults.Request {
	pay := func(name, path string, effect faults.Effect, effects string) *faults.Request {
		return &faults.Request{
			Name: name, Method: http.MethodPost, Path: path,
			Header: map[string]string{"Content-Type": "application/json", "X-Account": "{principal}", "Idempotency-Key": "{key}"},
			Body:   `{"reference":"{reference}","cents":{amount}}`,
			Answer: `{"reference":"{reference}","cents":{amount},`,
			Effect: effect, Effects: effects, Generation: generation,
		}
	}
	claim := pay("claim", "/v1/charges", faults.Derived, `SELECT reference, cents FROM charges`)
	claim.EffectsIn = paid
	return []*faults.Request{
		claim,
		// A transfer books an amount out of one account and into another. Half
		// of one, or one and a half, is an effect of no amount that was asked.
		pay("twice", "/v1/transfers", faults.Transaction, `SELECT reference, CASE WHEN count(*) = 2 AND sum(cents) = 0 THEN max(cents) ELSE -1 END
			FROM bookings WHERE reference LIKE '%-twice-%' GROUP BY reference`),
		pay("once", "/v1/withdrawals", faults.Transaction, `SELECT reference, cents FROM bookings WHERE reference LIKE '%-once-%'`),
	}
}

func generation(body string) int64 {
	var receipt checkout.Receipt
	json.Unmarshal([]byte(body), &receipt)
	return receipt.Generation
}

// waits is how often a server had to wait for a connection.
func waits(ctx context.Context, address string) int {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/pool", nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	var stats struct{ WaitCount int }
	json.NewDecoder(response.Body).Decode(&stats)
	return stats.WaitCount
}
