package runtime

import (
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
