package runtime

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestHeaderReasons holds the lists of headers against headers of every kind
// that clients, proxies, tracers and platforms are known to write, and against
// headers that say something about a request and must stay usable.
func TestHeaderReasons(t *testing.T) {
	for _, name := range strings.Fields(`
		Date User-Agent Cookie Authorization Proxy-Authorization Traceparent Tracestate Baggage X-Request-Id Request-Id
		X-Correlation-Id X-Amzn-Trace-Id X-Amzn-RequestId X-Cloud-Trace-Context X-Real-Ip Uber-Trace-Id uberctx-user Sentry-Trace
		Stripe-Signature B3 X-B3-TraceId X-B3-Sampled X-Datadog-Trace-Id X-Datadog-Parent-Id Forwarded X-Forwarded-For
		X-Forwarded-Proto X-Forwarded-Host Via Age True-Client-IP CF-Ray CF-Connecting-IP CDN-Loop Fastly-Client-IP Fly-Client-IP
		X-Envoy-Attempt-Count X-Envoy-External-Address X-Client-Ip X-Cluster-Client-Ip Elastic-Apm-Traceparent Newrelic
		X-Instana-T Grpc-Trace-Bin Correlation-Context X-MS-Request-Id X-Vercel-Id X-Arr-Log-Id X-Azure-Ref X-Request-Start
		Amz-Sdk-Invocation-Id Amz-Sdk-Request X-Amz-Date X-Amz-Security-Token X-Csrf-Token X-Xsrf-Token X-Goog-Iap-Jwt-Assertion
		X-Amzn-Oidc-Data Signature Signature-Input DPoP X-Slack-Request-Timestamp Webhook-Timestamp Sec-Fetch-Site Sec-Ch-Ua
		Accept-Encoding X-Stainless-Retry-Count Retry-Count sw8 Jaeger-Debug-Id Connection Te Trailer Transfer-Encoding Upgrade
		Keep-Alive Content-Length Expect`) {
		lower := strings.ToLower(name)
		if unjoinable(lower) == "" {
			t.Errorf("%s may join a fingerprint", name)
		}
		if unkeyable(lower) == "" {
			t.Errorf("%s may carry a key", name)
		}
	}
	for _, name := range strings.Fields("Content-Type Content-Language Accept Accept-Language Host If-Match If-None-Match Prefer Origin Content-Digest") {
		lower := strings.ToLower(name)
		if why := unjoinable(lower); why != "" {
			t.Errorf("%s may not join a fingerprint: %s", name, why)
		}
		if unkeyable(lower) == "" {
			t.Errorf("%s may carry a key", name)
		}
	}
	for _, name := range strings.Fields(`
		Idempotency-Key X-Idempotency-Key PayPal-Request-Id Webhook-Id Svix-Id X-GitHub-Delivery X-Api-Version X-Tenant
		X-CloudTasks-TaskName Order-Id Client-Token Message-Id Ce-Id`) {
		if why := unkeyable(strings.ToLower(name)); why != "" {
			t.Errorf("%s may not carry a key: %s", name, why)
		}
	}
	for _, name := range strings.Fields("Set-Cookie Date Content-Length Age Via Connection Server-Timing Authorization Host") {
		if unreplayable(strings.ToLower(name)) == "" {
			t.Errorf("%s may be replayed", name)
		}
	}
	for _, name := range strings.Fields("Location ETag Content-Type Retry-After Www-Authenticate Link Vary X-Request-Id Cache-Control") {
		if why := unreplayable(strings.ToLower(name)); why != "" {
			t.Errorf("%s may not be replayed: %s", name, why)
		}
	}
}

var update = flag.Bool("update", false, "write docs/headers.md anew")

// The reference page of headers is made from the lists.
func TestHeadersPage(t *testing.T) {
	const file = "../docs/headers.md"
	var b strings.Builder
	b.WriteString("# Headers with a part of their own\n\n" +
		"Generation and the constructors of package runtime refuse these headers, each with its reason. A name that ends in `*` stands\n" +
		"for all that begin so. The page is written by a test of package runtime, from the lists that refuse.\n")
	section := func(title, text string, lists ...[]headerClass) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| why | headers |\n|---|---|\n", title, text)
		for _, list := range lists {
			for _, class := range list {
				var names []string
				for name := range strings.FieldsSeq(class.names) {
					names = append(names, "`"+http.CanonicalHeaderKey(name)+"`")
				}
				fmt.Fprintf(&b, "| %s | %s |\n", class.why, strings.Join(names, " "))
			}
		}
	}
	section("In a fingerprint", "They differ between a request and its honest retry, which would be refused as another request; so no field of a request\n"+
		"may hold one either.", volatileHeaders, connectionHeaders)
	section("As the key", "Those above, and in addition:", meaningfulHeaders)
	section("In replays", "No replay list and no field of a result may have them.", unreplayableHeaders, connectionHeaders)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(text), "\r\n", "\n") != b.String() {
		t.Errorf("docs/headers.md is not what the lists say; run go test ./runtime -run HeadersPage -update")
	}
}
