package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/idemgen/idemgen/example/checkout"
)

// kind is a kind of client: key makes the key of an attempt at an order, or ""
// for none.
type kind struct {
	name string
	key  func(order, attempt int) string
}

var kinds = []kind{
	{"no-key", func(int, int) string { return "" }},
	{"key-per-try", func(order, attempt int) string { return fmt.Sprintf("per-try-%d-%d", order, attempt) }},
	{"same-key", func(order, _ int) string { return fmt.Sprintf("order-%d", order) }},
}

// maxAttempts is when a client gives up on an order.
const maxAttempts = 50

// place places orders one after another, each until it is answered.
func (b *bench) place(ctx context.Context, k kind, orders int, seed uint64) (attempts int, err error) {
	b.network.begin(seed)
	for order := range orders {
		body, err := json.Marshal(checkout.Payment{Reference: reference(k, order), Cents: 1250})
		if err != nil {
			return attempts, err
		}
		answered := false
		for try := 0; !answered; try++ {
			if try == maxAttempts {
				return attempts, fmt.Errorf("order %d had no answer after %d attempts", order, try)
			}
			attempts++
			if answered, err = b.attempt(ctx, k.key(order, try), body); err != nil {
				return attempts, err
			}
		}
	}
	return attempts, nil
}

// attempt sends a request once. It reports false when its answer was lost.
func (b *bench) attempt(ctx context.Context, key string, body []byte) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.network.url+"/v1/charges", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", b.run+" "+key)
	}
	// net/http sends a request again by itself when its key header tells that
	// it may; the lab counts attempts, so they are its own.
	r.GetBody = nil
	response, err := b.client.Do(r)
	if err != nil {
		return false, nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return false, nil
	}
	if response.StatusCode != http.StatusCreated {
		return false, fmt.Errorf("%s: %s", response.Status, answer)
	}
	return true, nil
}

// charged counts the charges of a kind's orders, and the orders with several.
func (b *bench) charged(ctx context.Context, k kind) (charges, double int, err error) {
	all, err := b.charges.Charges(ctx)
	if err != nil {
		return 0, 0, err
	}
	times := map[string]int{}
	for _, c := range all {
		if strings.HasPrefix(c.Reference, k.name+" ") {
			times[c.Reference]++
		}
	}
	for _, n := range times {
		charges += n
		if n > 1 {
			double++
		}
	}
	return charges, double, nil
}

func reference(k kind, order int) string { return fmt.Sprintf("%s %d", k.name, order) }
