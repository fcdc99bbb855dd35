package runtime

import "strings"

// headerClass is a set of headers that a policy refuses for one reason. Names
// are in lower case; one that ends in * stands for all that begin so.
type headerClass struct{ why, names string }

// volatileHeaders differ between a request and its honest retry, or belong to
// something other than the request. In a fingerprint they would refuse every
// retry as reuse, and as the key they would make every retry a new request.
var volatileHeaders = []headerClass{
	{"the client writes the time, itself or its cache's age into it", `
		date age user-agent sec-* dnt save-data device-memory downlink ect rtt viewport-width accept-encoding
		x-goog-api-client x-stripe-client-user-agent x-stripe-client-telemetry x-stainless-*`},
	{"clients and proxies count or time the attempts in it", `
		amz-sdk-* x-retry-count x-retry-attempt retry-count retry-attempt x-attempt x-request-start x-queue-start x-timestamp x-nonce
		x-appengine-taskretrycount x-appengine-taskexecutioncount x-appengine-tasketa
		x-appengine-taskpreviousresponse x-appengine-taskretryreason x-cloudtasks-taskretrycount x-cloudtasks-taskexecutioncount x-cloudtasks-tasketa
		x-cloudtasks-taskpreviousresponse x-cloudtasks-taskretryreason x-amz-date grpc-timeout
		svix-timestamp webhook-timestamp x-slack-request-timestamp paypal-transmission-time`},
	{"tracing writes it anew for every attempt", `
		traceparent tracestate baggage b3 x-b3-* uber-trace-id uberctx-* sentry-trace x-amzn-* x-cloud-trace-context x-trace-id
		x-span-id trace-id x-datadog-* x-ot-* ot-* ot-tracer-* elastic-apm-traceparent newrelic x-newrelic-* x-dynatrace* x-instana-*
		x-honeycomb-trace grpc-trace-bin grpc-tags-bin x-sentry-* request-context correlation-context x-client-trace-id
		x-ms-request-root-id x-wf-* jaeger-debug-id jaeger-baggage x-pinpoint-* pinpoint-* sw8 sw8-correlation sw8-x`},
	{"clients and proxies write a new id for every attempt into it", `
		x-request-id request-id x-requestid x-req-id x-correlation-id correlation-id x-correlationid x-amz-cf-id x-amz-request-id
		x-ms-request-id x-ms-client-request-id x-ms-correlation-request-id x-arr-log-id x-azure-ref x-azure-requestchain
		x-appengine-request-* x-vercel-* fly-request-id x-railway-request-id x-nf-request-id x-github-request-id
		x-kong-request-id`},
	{"proxies write it by the way that the request took", `
		forwarded x-forwarded x-forwarded-* via cdn-loop x-real-ip x-client-ip x-cluster-client-ip true-client-ip x-true-client-ip
		x-original-* x-originating-ip x-remote-ip x-remote-addr client-ip fastly-* cf-* fly-* x-azure-clientip x-azure-socketip
		x-azure-fdid x-appengine-country x-appengine-region x-appengine-city x-appengine-citylatlong x-appengine-user-ip
		x-appengine-https x-envoy-* x-nf-* x-varnish x-cache x-arr-ssl x-proxyuser-ip x-proxy-* akamai-* x-akamai-*
		x-sucuri-* x-sigsci-* cloudfront-*`},
	{"it is a credential, which may be renewed between a request and its retry", `
		authorization cookie cookie2 x-api-key api-key apikey x-auth-token x-access-token x-id-token x-csrf-token x-xsrf-token x-csrftoken
		x-amz-security-token x-goog-iap-* x-ms-token-* x-ms-client-principal* ssl-client-* x-ssl-client-* x-client-cert*
		client-cert client-cert-chain dpop x-session-token`},
	{"it is signed anew for every attempt", `
		signature signature-input stripe-signature x-slack-signature svix-signature webhook-signature paypal-transmission-sig
		paypal-auth-algo paypal-cert-url x-signature`},
}

// connectionHeaders belong to one connection (RFC 9110, section 7.6.1).
var connectionHeaders = []headerClass{
	{"it belongs to one connection", `
		connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade
		http2-settings content-length expect`},
}

// meaningfulHeaders say something else about a request (the IANA registry of
// field names), so that none of them can carry its key.
var meaningfulHeaders = []headerClass{
	{"HTTP gives it a meaning of its own", `
		host content-* accept accept-* allow cache-control pragma range if-* from referer origin max-forwards location link
		prefer priority access-control-* etag last-modified expires retry-after server set-cookie set-cookie2 vary warning
		www-authenticate want-* repr-digest digest early-data alt-used destination depth overwrite timeout lock-token dav
		x-http-method-override x-http-method x-method-override soapaction mime-version server-timing strict-transport-security`},
}

// unreplayableHeaders are wrong on a second answer.
var unreplayableHeaders = []headerClass{
	{"it belongs to one caller's browser, and a replay would set it again", "set-cookie set-cookie2 clear-site-data"},
	{"the server writes it for every answer", "date content-length"},
	{"it belongs to one answer", "age via server-timing alt-svc authentication-info proxy-authentication-info"},
	{"it is a header of requests", `
		accept accept-charset accept-language authorization cookie from host if-match if-modified-since if-none-match if-range
		if-unmodified-since max-forwards origin range referer user-agent traceparent tracestate`},
}

// reason says why the classes refuse a header, its name in lower case, or "".
func reason(lower string, lists ...[]headerClass) string {
	for _, list := range lists {
		for _, class := range list {
			for name := range strings.FieldsSeq(class.names) {
				if beginning, open := strings.CutSuffix(name, "*"); name == lower || open && strings.HasPrefix(lower, beginning) {
					return class.why
				}
			}
		}
	}
	return ""
}

// unjoinable says why a header cannot join a fingerprint, or "".
func unjoinable(lower string) string { return reason(lower, volatileHeaders, connectionHeaders) }

// unreplayable says why a header cannot be replayed, or "".
func unreplayable(lower string) string { return reason(lower, unreplayableHeaders, connectionHeaders) }

// unkeyable says why a header cannot carry a key, or "".
func unkeyable(lower string) string {
	return reason(lower, volatileHeaders, connectionHeaders, meaningfulHeaders)
}
