package spec

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckTable(t *testing.T) {
	all := []string{"sqlite", "postgres", "mysql"}
	for _, name := range []string{
		"idempotency_keys", "keys1", "_k1", "shop.idempotency_keys", "main.k", "status", "owner", "scope", "shop.env",
		strings.Repeat("a", 40), "a." + strings.Repeat("b", 38),
	} {
		if err := CheckTable(name, all...); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                      "identifier",
		"1k":                    "identifier",
		"Keys":                  "identifier",
		"idempotency-keys":      "identifier",
		"k; DROP TABLE orders":  "identifier",
		"a.b.c":                 "identifier",
		".k":                    "identifier",
		"k.":                    "identifier",
		"k\n":                   "identifier",
		"\u00e4":                "identifier",
		strings.Repeat("a", 41): "at most 40",
		"select":                "SQL",
		"excluded":              "SQLite",
		"user":                  "PostgreSQL",
		"shop.user":             "PostgreSQL",
		"keys":                  "MySQL",
		"schema.k":              "MySQL",
		"sqlite_k":              "SQLite",
		"main.sqlite_k":         "SQLite",
		"temp.k":                "temp",
		"pg_shop.k":             "PostgreSQL",
		"env":                   "a ledger for postgres use the name",
		"due":                   "a ledger for sqlite use the name",
		"current":               "PostgreSQL", // current_schema is its second table
		"value":                 "MySQL",
	} {
		if err := CheckTable(name, all...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not speak of %q", name, err, want)
		}
	}
}

// A word that one engine reserves is free on the others.
func TestCheckTableByEngine(t *testing.T) {
	for _, c := range []struct{ name, refusedBy string }{
		{"transaction", "sqlite"}, {"sqlite_k", "sqlite"}, {"temp.k", "sqlite"},
		{"user", "postgres"}, {"pg_shop.k", "postgres"},
		{"keys", "mysql"}, {"shop.rank", "mysql"},
	} {
		for _, engine := range []string{"sqlite", "postgres", "mysql"} {
			if err := CheckTable(c.name, engine); (err != nil) != (engine == c.refusedBy) {
				t.Errorf("%q on %s: %v", c.name, engine, err)
			}
		}
		if err := CheckTable(c.name); (err != nil) != (c.refusedBy == "sqlite") {
			t.Errorf("%q without an engine: %v", c.name, err)
		}
	}
}

// A word in the wrong form would never match.
func TestReservedWords(t *testing.T) {
	for _, reserved := range reservedWords {
		words := strings.Fields(reserved.words)
		if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
			t.Errorf("the words of %s are not sorted, each once", reserved.name)
		}
		for _, word := range words {
			if !tableForm.MatchString(word) || strings.Contains(word, ".") {
				t.Errorf("%s: %q has not the form of a table name", reserved.name, word)
			}
			if reserved.engine != "" && slices.Contains(strings.Fields(reservedWords[0].words), word) {
				t.Errorf("%s: %q stands under %s already", reserved.name, word, reservedWords[0].name)
			}
		}
	}
}
