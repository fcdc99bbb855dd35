package sqlledger

import (
	"io/fs"
	"testing"
)

func TestFileOf(t *testing.T) {
	for dsn, want := range map[string]string{
		"orders.db":                                "orders.db",
		"orders.db?_pragma=busy_timeout(5)":        "orders.db",
		"/var/lib/a b.db":                          "/var/lib/a b.db",
		"file:orders.db":                           "orders.db",
		"file:orders.db?cache=private&mode=rwc":    "orders.db",
		"file:/var/lib/a%20b.db?_txlock=exclusive": "/var/lib/a b.db",
		"file:///var/lib/orders.db":                "/var/lib/orders.db",
		"file://localhost/var/lib/orders.db":       "/var/lib/orders.db",
		"file:orders.db#part":                      "orders.db",
		"a%20b.db":                                 "a%20b.db",
		"file:orders.db?mode=ro":                   "",
		"file:orders.db?mode=rw":                   "",
		"file:orders.db?vfs=memdb":                 "",
		"file:orders.db?immutable=1":               "",
		"file:":                                    "",
		"file:%zz":                                 "",
		"file:a%00b":                               "",
		"file://host":                              "",
		"":                                         "",
	} {
		got, ok := fileOf(dsn)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v; want %q", dsn, got, ok, want)
		}
	}
}

func TestFileModesThatAreRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0, 0o400, 0o200, 0o066, fs.ModeSetuid | 0o600, fs.ModeDir | 0o700, 0o1600} {
		if _, err := OpenSQLite("none", "orders.db", WithFileMode(mode)); err == nil {
			t.Errorf("%v: accepted", mode)
		}
	}
}
