package security_test

import (
	"fmt"
	"strings"
	"testing"
)

const order = `{"sku":"tea","qty":1}`

// Requests whose end can be read in two ways are refused, and nothing runs: a
// proxy in front that reads them the other way must not be able to hide one
// request in another.
func TestAmbiguousFramingIsRefused(t *testing.T) {
	s := startShop(t)
	hidden := post("Idempotency-Key: hidden\r\n", order)
	head := "POST /v1/orders HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nIdempotency-Key: outer\r\n"
	for name, text := range map[string]string{
		"two lengths":              head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s", len(order), len(order)+len(hidden), order, hidden),
		"two lengths in one":       head + fmt.Sprintf("Content-Length: %d, %d\r\n\r\n%s%s", len(order), len(order)+len(hidden), order, hidden),
		"signed length":            head + "Content-Length: +21\r\n\r\n" + order,
		"negative length":          head + "Content-Length: -21\r\n\r\n" + order,
		"hexadecimal length":       head + "Content-Length: 0x15\r\n\r\n" + order,
		"length with a space":      head + "Content-Length: 2 1\r\n\r\n" + order,
		"length that overflows":    head + "Content-Length: 18446744073709551637\r\n\r\n" + order,
		"space before the colon":   head + "Transfer-Encoding : chunked\r\n\r\n15\r\n" + order + "\r\n0\r\n\r\n",
		"unknown coding":           head + "Transfer-Encoding: xchunked\r\n\r\n15\r\n" + order + "\r\n0\r\n\r\n",
		"coding twice":             head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n15\r\n" + order + "\r\n0\r\n\r\n",
		"two codings":              head + "Transfer-Encoding: chunked, identity\r\n\r\n15\r\n" + order + "\r\n0\r\n\r\n",
		"coding with a byte":       head + "Transfer-Encoding: \x0bchunked\r\n\r\n15\r\n" + order + "\r\n0\r\n\r\n",
		"chunk size that is none":  head + "Transfer-Encoding: chunked\r\n\r\n0x15\r\n" + order + "\r\n0\r\n\r\n",
		"chunk size that is large": head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + order + "\r\n0\r\n\r\n",
		"chunk without its end":    head + "Transfer-Encoding: chunked\r\n\r\n15\r\n" + order + "0\r\n\r\n",
		"chunks without an end":    head + "Transfer-Encoding: chunked\r\n\r\n15\r\n" + order + "\r\n",
		"less than promised":       head + "Content-Length: 22\r\n\r\n" + order,
		"a line without a colon":   head + "Content-Length\r\n\r\n" + order,
		"a fold at the start":      "POST /v1/orders HTTP/1.1\r\n Host: shop\r\n" + head[len("POST /v1/orders HTTP/1.1\r\n"):] + "\r\n",
		"no host":                  strings.Replace(head, "Host: shop\r\n", "", 1) + "Content-Length: 21\r\n\r\n" + order,
		"two hosts":                head + "Host: other\r\nContent-Length: 21\r\n\r\n" + order,
		"a space in the target":    strings.Replace(head, "/v1/orders", "/v1/orders HTTP/1.1 /x", 1) + "Content-Length: 21\r\n\r\n" + order,
		"a control in the target":  strings.Replace(head, "/v1/orders", "/v1/orders?\x01", 1) + "Content-Length: 21\r\n\r\n" + order,
		"a protocol that is none":  strings.Replace(head, "HTTP/1.1", "HTTP/1.1x", 1) + "Content-Length: 21\r\n\r\n" + order,
	} {
		got, answers := raw(t, s.URL, text)
		if len(answers) != 1 || answers[0].status != 400 && answers[0].status != 501 {
			t.Errorf("%s: %.300q, want it refused", name, got)
		}
	}
	if n := placed(t, s); n != 0 {
		t.Errorf("%d orders were placed", n)
	}
	wantHealthy(t, s.URL)
}

// Of a length and a coding the coding counts (RFC 9112, section 6.3): the
// request is one, whoever reads it, and so is what follows it.
func TestLengthBesideChunks(t *testing.T) {
	s := startShop(t)
	rest := post("Idempotency-Key: second\r\n", order)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(order), order)
	text := "POST /v1/orders HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nIdempotency-Key: first\r\n" +
		fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s%s", len(chunked)+len(rest), chunked, rest)
	for round := range 2 {
		_, answers := raw(t, s.URL, text)
		for _, a := range answers {
			if a.status != 201 && a.status != 400 || a.status == 201 && a.replayed() != (round > 0) {
				t.Errorf("round %d: %+v", round, a)
			}
		}
		// The fingerprint is of the body that was read: the same request in
		// plain framing is a retry of it.
		if _, plain := raw(t, s.URL, post("Idempotency-Key: first\r\n", order)); answers[0].status == 201 && (len(plain) != 1 || !plain[0].replayed() || plain[0].body != answers[0].body) {
			t.Errorf("round %d, in plain framing: %+v", round, plain)
		}
	}
	if n := placed(t, s); n > 2 {
		t.Errorf("%d orders were placed by two requests", n)
	}
	wantHealthy(t, s.URL)
}

// Lenient readings of one request are one request: a retry that a proxy has
// rewritten to the strict form is a replay, and not a second order.
func TestLenientFramingIsOneRequest(t *testing.T) {
	for name, text := range map[string]string{
		"bare LF":            strings.ReplaceAll(post("Idempotency-Key: k k\r\n", order), "\r\n", "\n"),
		"folded key":         post("Idempotency-Key: k\r\n k\r\n", order),
		"folded key, tab":    post("Idempotency-Key: k\r\n\tk\r\n", order),
		"padded key":         post("Idempotency-Key:   k k\t \r\n", order),
		"no padding":         post("Idempotency-Key:k k\r\n", order),
		"lower case":         post("idempotency-key: k k\r\n", order),
		"a length twice":     post("Idempotency-Key: k k\r\nContent-Length: 21\r\n", order),
		"an empty line":      "\r\n" + post("Idempotency-Key: k k\r\n", order),
		"an absolute target": strings.Replace(post("Idempotency-Key: k k\r\n", order), "/v1/orders", "http://shop/v1/orders", 1),
		"chunks": strings.Replace(post("Idempotency-Key: k k\r\n", ""), "Content-Length: 0\r\n\r\n",
			"Transfer-Encoding: chunked\r\n\r\n5;ext=\"a\"\r\n"+order[:5]+"\r\n10\r\n"+order[5:]+"\r\n0\r\nTrailer: x\r\n\r\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := startShop(t)
			_, lenient := raw(t, s.URL, text)
			_, strict := raw(t, s.URL, post("Idempotency-Key: k k\r\n", order))
			if len(lenient) != 1 || len(strict) != 1 || strict[0].status != 201 {
				t.Fatalf("%+v, then %+v", lenient, strict)
			}
			switch lenient[0].status {
			case 400:
				if strict[0].replayed() {
					t.Error("it was refused, and yet something ran")
				}
			case 201:
				if !strict[0].replayed() || strict[0].body != lenient[0].body {
					t.Errorf("first %+v, then %+v", lenient[0], strict[0])
				}
			default:
				t.Errorf("%+v", lenient[0])
			}
			if n := placed(t, s); n != 1 {
				t.Errorf("%d orders", n)
			}
		})
	}
}

// Targets that name one resource in two ways are two requests: none is taken
// for a retry of the other.
func TestTargetsAreVerbatim(t *testing.T) {
	s := startShop(t)
	for i, target := range []string{"/v1/orders", "/v1/orders?", "/v1/orders?a", "/v1/orders?a=", "/v1/order%73", "x:/v1/orders?://shop/v1/orders", "http://shop/v1/orders#"} {
		text := strings.Replace(post("Idempotency-Key: k\r\n", order), "/v1/orders", target, 1)
		got, answers := raw(t, s.URL, text)
		if len(answers) != 1 {
			t.Fatalf("%s: %q", target, got)
		}
		if i == 0 && answers[0].status != 201 || i > 0 && answers[0].status != 422 && answers[0].status != 400 && answers[0].status != 404 {
			t.Errorf("%s: %+v", target, answers[0])
		}
	}
	if n := placed(t, s); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// wantHealthy places an order as a good client does.
func wantHealthy(t *testing.T, url string) {
	t.Helper()
	if _, answers := raw(t, url, post("Idempotency-Key: after all that\r\n", order)); len(answers) != 1 || answers[0].status != 201 {
		t.Errorf("afterwards %+v", answers)
	}
}
