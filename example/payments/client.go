package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/idemgen/idemgen/runtime"
)

// Client charges customers at a payment service. It is safe for concurrent
// use.
type Client struct {
	// URL is the service's, without a path.
	URL string
	// HTTP sends the requests: [NewHTTP] gives each a key that derives from the
	// request being handled.
	HTTP *http.Client
}

// NewHTTP is an HTTP client whose charges carry derived keys, one per step of a
// handler.
func NewHTTP(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &runtime.Transport{
		Base: base,
		Step: func(r *http.Request) string { step, _ := r.Context().Value(stepKey{}).(string); return step },
	}}
}

type stepKey struct{}

// Charge charges an amount in cents for what the reference names. ctx is the
// handler's, whose key the step's key derives from.
func (c *Client) Charge(ctx context.Context, step, reference string, cents int64) error {
	body, err := json.Marshal(Charge{Reference: reference, Cents: cents})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, stepKey{}, step), http.MethodPost, c.URL+"/charges", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("the payment service answered %s", response.Status)
	}
	return nil
}
