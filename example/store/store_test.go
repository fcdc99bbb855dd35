package store_test

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/example/store"
)

// The name of a database may hold a password, which no error repeats.
func TestPasswordsStayOutOfErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"mysql://root:hunter2/x@127.0.0.1/shop", "mysql://root:hunter2%zz@127.0.0.1/shop", "mysql://root:hunter2@127.0.0.1:port/shop",
		"mysql://root:hunter2@127.0.0.1:1/shop", "mysql://root:hunter2 @127.0.0.1/shop",
		"mysqls://root:hunter2@127.0.0.1/shop", "hunter2://127.0.0.1/shop",
		"postgres://root:hunter2/x@127.0.0.1/shop", "postgres://root:hunter2%zz@127.0.0.1/shop", "postgres://root:hunter2@127.0.0.1:1/shop",
		"file::memory:?_auth_pass=hunter2", "orders.db?mode=memory&_auth_pass=hunter2",
	} {
		db, err := store.Open(t.Context(), name)
		if err == nil {
			db.Close()
			t.Errorf("%s was opened", name)
		} else if strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
