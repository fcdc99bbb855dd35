package starter

import "testing"

func TestPackageName(t *testing.T) {
	for path, want := range map[string]string{
		"example.com/payments":    "payments",
		"example.com/my-Shop":     "myshop",
		"example.com/payments/v2": "payments",
		"example.com/v":           "v",
	} {
		if got, err := packageName(path); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"example.com/2", "example.com/func", "example.com/main", "example.com/sql", "example.com/len", "example.com/db"} {
		if got, err := packageName(path); err == nil {
			t.Errorf("%s: %q, want an error", path, got)
		}
	}
}
