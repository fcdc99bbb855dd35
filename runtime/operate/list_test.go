package operate_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// put claims a key, and completes it where there is an answer.
func (c *console) put(id runtime.ID, operation, answer string) {
	c.t.Helper()
	claim := runtime.Claim{ID: id, Terms: runtime.Terms{Lease: 30 * time.Second, Retain: time.Hour}, Operation: operation, Policy: "1 raw", Owner: runtime.Owner{7}}
	claimed, won, err := c.ledger.Insert(c.t.Context(), claim)
	if !won || err != nil {
		c.t.Fatal(won, err)
	}
	if answer == "" {
		return
	}
	fence := runtime.Fence{ID: id, Generation: claimed.Generation, Owner: claim.Owner}
	stored := runtime.StoredAnswer{Status: 201, Headers: []byte{}, Body: []byte(answer)}
	if ok, err := c.ledger.Complete(c.t.Context(), runtime.Completion{Fence: fence, Terms: claim.Terms, Answer: stored}); !ok || err != nil {
		c.t.Fatal(ok, err)
	}
}

// rows are the rows of a list, whatever the width of its columns.
func rows(list string) string {
	var rows []string
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "PRINCIPAL") {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(rows, "\n")
}

func TestList(t *testing.T) {
	c := newConsole(t)
	c.put(runtime.ID{Principal: "alice", Key: "a"}, "POST /v1/refunds", "done")
	c.put(runtime.ID{Principal: "bob", Key: "b c"}, "POST /v1/orders", "")
	c.now = c.now.Add(40 * time.Second)
	c.put(runtime.ID{Principal: "bob\n\x1b[2J", Key: "z"}, "POST /v1/orders", "")
	const head = "PRINCIPAL  SCOPE  KEY    STATE      OPERATION         AGE  LEASE LEFT  STATUS  BYTES\n"
	const (
		done  = "alice      -      a      completed  POST /v1/refunds  40s  -           201     4\n"
		stale = "alice      s      k      stale      POST /v1/orders   40s  -10s        -       0\n"
		bob   = "bob        -      \"b c\"  stale      POST /v1/orders   40s  -10s        -       0\n"
	)
	out, _ := c.run(0, "list", "-limit", "3")
	rest, ok := strings.CutPrefix(out, head+done+stale+bob+"\n3 rows read; there may be more: -after ")
	if !ok {
		t.Fatalf("got\n%s", out)
	}
	out, _ = c.run(0, "list", "-after", strings.TrimSpace(rest))
	if !strings.Contains(out, `"bob\n\x1b[2J"`) || strings.Count(out, "\n") != 2 {
		t.Errorf("behind the third: %q", out)
	}
	for _, want := range []struct {
		rows string
		args []string
	}{
		{done, []string{"-principal", "alice", "-operation", "POST /v1/refunds"}},
		{stale, []string{"-principal", "alice", "-state", "stale"}},
		{done + stale, []string{"-principal", "alice"}},
		{bob, []string{"-principal", "bob"}},
		{"", []string{"-half-done"}},
		{"", []string{"-principal", "carol"}},
	} {
		out, _ := c.run(0, append([]string{"list"}, want.args...)...)
		if rows(out) != rows(want.rows) {
			t.Errorf("%q: got\n%s\nwant\n%s", want.args, out, want.rows)
		}
	}
	// The bound of what is read is told, and nothing is passed over behind it.
	out, _ = c.run(0, "list", "-state", "pending", "-reads", "2")
	if !strings.Contains(out, "2 rows read; there may be more") {
		t.Errorf("got\n%s", out)
	}
	for _, args := range [][]string{{"-state", "open"}, {"-limit", "-1"}} {
		c.run(2, append([]string{"list"}, args...)...)
	}
}

// A key is found by the hash that logs show, with a secret that no list of
// processes shows.
func TestShowByHash(t *testing.T) {
	c := newConsole(t)
	c.put(runtime.ID{Principal: "bob", Scope: "s", Key: "k"}, "POST /v1/orders", "answered")
	c.put(runtime.ID{Principal: "bob", Key: "other"}, "POST /v1/orders", "")
	const secret = "0123456789abcdef"
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("s\x00k"))
	hash := hex.EncodeToString(mac.Sum(nil))
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEY_HASHES", secret)
	for _, from := range [][]string{{"-secret-file", file}, {"-secret-env", "KEY_HASHES"}} {
		out, _ := c.run(0, append([]string{"show", "-hash", hash}, from...)...)
		if strings.Count(out, "key          k\n") != 2 || !strings.Contains(out, "principal    alice\n") || !strings.Contains(out, "principal    bob\n") {
			t.Errorf("got\n%s", out)
		}
	}
	out, _ := c.run(0, "show", "-hash", strings.ToUpper(hash), "-secret-file", file, "-principal", "bob", "-answer")
	if strings.Contains(out, "alice") || !strings.Contains(out, "-generation 1 -owner 07") || !strings.Contains(out, "\nanswered\n") {
		t.Errorf("got\n%s", out)
	}
	c.run(1, "show", "-hash", strings.Repeat("0", 64), "-secret-file", file)
	if out, _ := c.run(1, "show", "-hash", hash, "-secret-file", file, "-principal", "bob", "-reads", "1"); !strings.Contains(out, "-after ") {
		t.Errorf("the bound is not told: %s", out)
	}
	for _, args := range [][]string{
		{"-hash", hash}, {"-hash", "12", "-secret-file", file}, {"-hash", hash, "-secret-env", "NO_SUCH_VARIABLE"},
		{"-hash", hash, "-secret-file", file + "x"},
	} {
		if _, errs := c.run(2, append([]string{"show"}, args...)...); strings.Contains(errs, secret) {
			t.Errorf("the secret is shown: %s", errs)
		}
	}
}
