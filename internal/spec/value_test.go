package spec

import (
	"slices"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0B": 0, "1B": 1, "1024B": 1024, "64KiB": 64 << 10, "1MiB": 1 << 20, "8796093022207MiB": (1<<63 - 1) &^ (1<<20 - 1),
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"64":   `"64" is not a size: missing unit (try 64B)`,
		"64KB": `"64KB" is not a size: unknown unit "KB" (try 64KiB)`,
		"64k":  `"64k" is not a size: unknown unit "k" (try 64KiB)`,
		"1mb":  `"1mb" is not a size: unknown unit "mb" (try 1MiB)`,
		"1b":   `"1b" is not a size: unknown unit "b" (try 1B)`,
		"1GiB": `"1GiB" is not a size: unknown unit "GiB" (use B, KiB or MiB)`,
		"KiB":  `"KiB" is not a size: write a whole number and B, KiB or MiB, such as 64KiB`,
		"-1B":  `"-1B" is not a size: write a whole number and B, KiB or MiB, such as 64KiB`,
		"1.5B": `"1.5B" is not a size: write a whole number and B, KiB or MiB, such as 64KiB`,
		"":     `"" is not a size: write a whole number and B, KiB or MiB, such as 64KiB`,

		"8796093022208MiB": `"8796093022208MiB" is not a size: it is too large`,
	} {
		if _, err := parseSize(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "0": 0} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"30":   `"30" is not a duration: missing unit (try 30s)`,
		"1.5":  `"1.5" is not a duration: missing unit (try 1.5s)`,
		"7d":   `"7d" is not a duration: there is no unit for days (try 168h)`,
		"-1s":  `"-1s" is negative: a duration is 0 or more`,
		"soon": `"soon" is not a duration: write a number and a unit, such as 30s or 24h`,
	} {
		if _, err := parseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	names := Names()
	for word, want := range map[string]string{
		"endpont": "endpoint", "endpoint": "endpoint", "ENDPOINT": "endpoint", "enpdoint": "endpoint",
		"finger": "fingerprint", "leese": "lease", "lesae": "lease", "kye": "key", "no": "on",
		"ttl": "", "replay": "", "x": "", "": "", "requests": "request", "ret": "retain",
	} {
		if got := Suggest(word, names); got != want {
			t.Errorf("for %q %q is suggested, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"POTS", "POST", 1}, {"kitten", "sitting", 3}, {"für", "fur", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q are %d apart, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%q and %q are %d apart, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestOperationName(t *testing.T) {
	for pattern, want := range map[string]string{
		"/v1/orders": "POST /v1/orders", "/v1/orders/{id}/cancel": "POST /v1/orders/{}/cancel",
		"/{a}/{b}": "POST /{}/{}", "/files/{rest...}": "POST /files/{...}", "/{$}": "POST /{$}", "/x/": "POST /x/",
	} {
		if got := OperationName("POST", pattern); got != want {
			t.Errorf("%s is named %q, want %q", pattern, got, want)
		}
	}
	if got := wildcards("/{a}/x/{b...}"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("wildcards are %q", got)
	}
	if got := wildcards("/x/{$}"); len(got) != 0 {
		t.Errorf("wildcards are %q", got)
	}
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		importer, imported string
		want               bool
	}{
		{"a/b", "a/c", true}, {"a/b", "a/internal/x", true}, {"a", "a/internal", true}, {"ab", "a/internal", false},
		{"b", "a/internal/x", false}, {"a/b", "a/b/c/internal", false}, {"a/b/c/d", "a/b/c/internal", true},
		{"a", "internal/abi", false}, {"a", "a/internals/x", true}, {"a/internal/b", "a/internal/x/internal/y", false},
	} {
		if got := mayImport(c.importer, c.imported); got != c.want {
			t.Errorf("%s importing %s: %t", c.importer, c.imported, got)
		}
	}
}
