package operate_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
	"github.com/idemgen/idemgen/runtime/operate"
)

// console is an operator at a ledger that holds one pending claim.
type console struct {
	t      *testing.T
	ledger *memory.Ledger
	now    time.Time
	op     *runtime.Operator
}

func newConsole(t *testing.T) *console {
	t.Helper()
	c := &console{t: t, now: time.UnixMilli(1_700_000_000_000)}
	c.ledger = memory.New(memory.WithClock(func() time.Time { return c.now }))
	_, won, err := c.ledger.Insert(context.Background(), runtime.Claim{
		ID:        runtime.ID{Principal: "alice", Scope: "s", Key: "k"},
		Terms:     runtime.Terms{Lease: 30 * time.Second, Retain: time.Hour},
		Operation: "POST /v1/orders", Policy: "1 raw", Owner: runtime.Owner{1, 2, 3},
	})
	if !won || err != nil {
		t.Fatal(won, err)
	}
	c.op, err = runtime.NewOperator(c.ledger, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a command and checks its exit status.
func (c *console) run(status int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	var out, errs bytes.Buffer
	if got := operate.Main(context.Background(), c.op, args, &out, &errs); got != status {
		c.t.Errorf("%q exited with %d, want %d\n%s%s", args, got, status, &out, &errs)
	}
	return out.String(), errs.String()
}

// fence is what show prints for release and complete.
func (c *console) fence() []string {
	c.t.Helper()
	out, _ := c.run(0, "show", "-scope", "s", "alice", "k")
	return regexp.MustCompile(`-generation \d+ -owner [0-9a-f]{32}`).FindStringSubmatch(out)
}

func TestShow(t *testing.T) {
	c := newConsole(t)
	c.now = c.now.Add(10 * time.Second)
	out, _ := c.run(0, "show", "-scope", "s", "alice", "k")
	const want = `state        pending
operation    POST /v1/orders
rule         1 raw
owner's age  10s
lease left   20s
expires in   1h0m20s
answer       0, 0 bytes
fence        -generation 1 -owner 01020300000000000000000000000000
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	c.run(1, "show", "alice", "k")
	c.run(1, "show", "-scope", "s", "-answer", "alice", "k")
}

func TestRelease(t *testing.T) {
	c := newConsole(t)
	fence := strings.Fields(c.fence()[0])
	c.run(1, "release", "-scope", "s", "-generation", "2", "-owner", fence[3], "alice", "k")
	c.run(0, append([]string{"release", "-scope", "s"}, append(fence, "alice", "k")...)...)
	c.run(1, "show", "-scope", "s", "alice", "k")
}

func TestComplete(t *testing.T) {
	c := newConsole(t)
	fence := strings.Fields(c.fence()[0])
	file := filepath.Join(t.TempDir(), "answer.json")
	if err := os.WriteFile(file, []byte(`{"id":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"complete", "-scope", "s", "-status", "201", "-body", file}, append(fence, "alice", "k")...)
	c.run(0, args...)
	out, _ := c.run(0, "show", "-scope", "s", "-answer", "alice", "k")
	if !strings.Contains(out, "completed") || !strings.HasSuffix(out, "\nContent-Type: application/json\n\n{\"id\":7}\n") {
		t.Errorf("got\n%s", out)
	}
	c.run(2, append([]string{"complete", "-scope", "s"}, append(fence, "alice", "k")...)...)
}

func TestCountEraseSweep(t *testing.T) {
	c := newConsole(t)
	if out, _ := c.run(0, "count"); out != "OPERATION        STATE    ROWS\nPOST /v1/orders  pending  1\n" {
		t.Errorf("got\n%s", out)
	}
	if out, _ := c.run(0, "erase", "alice"); out != "0 rows erased\n" {
		t.Errorf("got %s", out)
	}
	c.now = c.now.Add(2 * time.Hour)
	if out, _ := c.run(0, "sweep"); out != "1 rows cleared\n" {
		t.Errorf("got %s", out)
	}
}

func TestWrongUsage(t *testing.T) {
	c := newConsole(t)
	for _, args := range [][]string{
		{}, {"mend"}, {"show"}, {"show", "alice"}, {"show", "-all", "alice", "k"}, {"release", "alice", "k"},
		{"show", "-secret-env", "X", "alice", "k"}, {"show", "-hash", "00", "alice", "k"}, {"list", "alice"}, {"list", "-limit", "x"},
		{"list", "-after", "00.zz.00"}, {"show", "-hash", "00", "-secret-file", "a", "-secret-env", "b"},
		{"release", "-generation", "1", "-owner", "zz", "alice", "k"}, {"count", "x"}, {"erase"}, {"sweep", "now"},
	} {
		if _, errs := c.run(2, args...); !strings.Contains(errs, "usage:") {
			t.Errorf("%q: %s", args, errs)
		}
	}
}

// What clients and servers have stored does not steer the operator's terminal.
func TestWhatIsShownIsVisible(t *testing.T) {
	c := newConsole(t)
	id := runtime.ID{Principal: "alice", Key: "evil"}
	claim := runtime.Claim{ID: id, Terms: runtime.Terms{Lease: time.Minute, Retain: time.Hour}, Operation: "POST /\x1b[2J", Policy: "1 \x1b]0;a\a", Owner: runtime.Owner{4}}
	claimed, won, err := c.ledger.Insert(t.Context(), claim)
	if !won || err != nil {
		t.Fatal(won, err)
	}
	answer := runtime.Answer{Status: 200, Header: runtime.Header{{Name: "X-Note", Value: "\x1b[1A"}}, Body: []byte("line\n\x1b[2Jtwo\u202e \xff\r \u009b")}
	if ok, err := c.op.Complete(t.Context(), runtime.Fence{ID: id, Generation: claimed.Generation, Owner: claim.Owner}, answer, runtime.Terms{}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	out, _ := c.run(0, "show", "-answer", "alice", "evil")
	for _, part := range []string{`POST /\u001b[2J`, `1 \u001b]0;a\u0007`, `X-Note: \u001b[1A`, "line\n" + `\u001b[2Jtwo\u202e \xff\u000d \u009b`} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in %q", part, out)
		}
	}
	counts, _ := c.run(0, "count")
	_, usage := c.run(2, "show", "-\x1b[2J", "alice", "k")
	_, file := c.run(2, append(append([]string{"complete", "-scope", "s"}, strings.Fields(c.fence()[0])...), "-status", "201", "-body", "\x1b[2J", "alice", "k")...)
	for _, text := range []string{out, counts, usage, file} {
		if strings.ContainsAny(text, "\x1b\r\a") || strings.Contains(text, "\xff") || strings.ContainsAny(text, "\u202e\u009b") {
			t.Errorf("it steers the terminal: %q", text)
		}
	}
}
