package runtime

import (
	"strings"
	"testing"
	"time"
)

func TestDefaultPolicyIsValid(t *testing.T) {
	if found := DefaultPolicy("POST /v1/orders").Problems(); len(found) > 0 {
		t.Error(found)
	}
}

func TestRenewLiftsTheLimitOfTheTimeout(t *testing.T) {
	p := DefaultPolicy("POST /x")
	p.Renew, p.Timeout = true, time.Hour
	if found := p.Problems(); len(found) > 0 {
		t.Error(found)
	}
}

func TestPolicyProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Policy)
		field  string
		says   string
	}{
		"operation empty":     {func(p *Policy) { p.Operation = "" }, "Operation", "1 to 255"},
		"operation long":      {func(p *Policy) { p.Operation = strings.Repeat("x", 256) }, "Operation", "1 to 255"},
		"key header":          {func(p *Policy) { p.KeyHeader = "a b" }, "KeyHeader", `"a b"`},
		"key syntax":          {func(p *Policy) { p.KeySyntax = "x" }, "KeySyntax", "raw or sf"},
		"key max":             {func(p *Policy) { p.KeyMax = 256 }, "KeyMax", "256"},
		"body mode":           {func(p *Policy) { p.Fingerprint.Body = "" }, "Fingerprint", "raw or json"},
		"fingerprint case":    {func(p *Policy) { p.Fingerprint.Headers = []string{"X-A"} }, "Fingerprint", "lower-case"},
		"fingerprint twice":   {func(p *Policy) { p.Fingerprint.Headers = []string{"x-a", "x-a"} }, "Fingerprint", "twice"},
		"fingerprint key":     {func(p *Policy) { p.Fingerprint.Headers = []string{"idempotency-key"} }, "Fingerprint", "carries the key"},
		"fingerprint changes": {func(p *Policy) { p.Fingerprint.Headers = []string{"traceparent"} }, "Fingerprint", "retries would be refused"},
		"fingerprint hop":     {func(p *Policy) { p.Fingerprint.Headers = []string{"te"} }, "Fingerprint", "one connection"},
		"key authorization":   {func(p *Policy) { p.KeyHeader = "Authorization" }, "KeyHeader", "credential"},
		"key request id":      {func(p *Policy) { p.KeyHeader = "X-Request-Id" }, "KeyHeader", "new id for every attempt"},
		"key host":            {func(p *Policy) { p.KeyHeader = "host" }, "KeyHeader", "meaning of its own"},
		"key length":          {func(p *Policy) { p.KeyHeader = "Content-Length" }, "KeyHeader", "one connection"},
		"key if-match":        {func(p *Policy) { p.KeyHeader = "If-Match" }, "KeyHeader", "meaning of its own"},
		"key marker":          {func(p *Policy) { p.KeyHeader = "idempotency-replayed" }, "KeyHeader", "marks replays"},
		"request max huge":    {func(p *Policy) { p.RequestMax = 1<<30 + 1 }, "RequestMax", "at most"},
		"response max huge":   {func(p *Policy) { p.ResponseMax = 1 << 30 }, "ResponseMax", "at most"},
		"replay request":      {func(p *Policy) { p.Replay = []string{"If-Match"} }, "Replay", "header of requests"},
		"lease long":          {func(p *Policy) { p.Lease, p.Retain = 49*time.Hour, 100*time.Hour }, "Lease", "at most 48h"},
		"lease fine":          {func(p *Policy) { p.Lease += time.Microsecond }, "Lease", "finer than a millisecond"},
		"wait fine":           {func(p *Policy) { p.Wait = 1 }, "Wait", "finer than a millisecond"},
		"request max":         {func(p *Policy) { p.RequestMax = 0 }, "RequestMax", "at least 1"},
		"response max":        {func(p *Policy) { p.ResponseMax = 10 }, "ResponseMax", "error answer fits"},
		"replay cookie":       {func(p *Policy) { p.Replay = []string{"Set-Cookie"} }, "Replay", "cannot be replayed"},
		"replay date":         {func(p *Policy) { p.Replay = []string{"date"} }, "Replay", "cannot be replayed"},
		"replay hop":          {func(p *Policy) { p.Replay = []string{"Keep-Alive"} }, "Replay", "cannot be replayed"},
		"replay marker":       {func(p *Policy) { p.Replay = []string{"Idempotency-Replayed"} }, "Replay", "marks replays"},
		"lease short":         {func(p *Policy) { p.Lease = time.Second }, "Lease", "at least 2s"},
		"timeout long":        {func(p *Policy) { p.Timeout = 29500 * time.Millisecond }, "Timeout", "1s below"},
		"timeout zero":        {func(p *Policy) { p.Timeout = 0 }, "Timeout", "above 0"},
		"retain short":        {func(p *Policy) { p.Retain = 30 * time.Second }, "Retain", "longer than the lease"},
		"retain long":         {func(p *Policy) { p.Retain = 200 * 366 * 24 * time.Hour }, "Retain", "at most"},
		"gone":                {func(p *Policy) { p.Gone = -1 }, "Gone", "from 0"},
		"sweep":               {func(p *Policy) { p.Sweep = -1 }, "Sweep", "0 to 10000"},
		"scope":               {func(p *Policy) { p.Scope = "" }, "Scope", "principal or operation"},
		"mismatch":            {func(p *Policy) { p.Mismatch = 418 }, "Mismatch", "422, 409 or 400"},
		"failure":             {func(p *Policy) { p.Failure = "ignore" }, "Failure", "store, release or hold"},
		"timeout renewed":     {func(p *Policy) { p.Renew, p.Timeout = true, 25*time.Hour }, "Timeout", "at most 24h"},
		"wait":                {func(p *Policy) { p.Wait = time.Hour }, "Wait", "from 0 to 5m"},
		"errors":              {func(p *Policy) { p.Errors = "xml" }, "Errors", "problem or json"},
		"marker":              {func(p *Policy) { p.ReplayMarker = "" }, "ReplayMarker", "not a header name"},
	} {
		p := DefaultPolicy("POST /x")
		c.change(&p)
		found := p.Problems()
		if len(found) != 1 || found[0].Field != c.field || !strings.Contains(found[0].Message, c.says) {
			t.Errorf("%s: got %v, want one of %s that says %q", name, found, c.field, c.says)
		}
	}
}
