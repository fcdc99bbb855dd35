package ledgers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// With these in its environment the test binary is a process that claims.
const (
	claimerFile   = "IDEMGEN_CLAIMER_FILE"
	claimerDriver = "IDEMGEN_CLAIMER_DRIVER"
	claimerName   = "IDEMGEN_CLAIMER_NAME"
	claimerShares = "IDEMGEN_CLAIMER_SHARES" // "true" where its writes share commits
)

const claimedKeys = 100

func TestMain(m *testing.M) {
	if file := os.Getenv(claimerFile); file != "" {
		if err := claimAll(os.Getenv(claimerDriver), file, os.Getenv(claimerName), os.Getenv(claimerShares) == "true"); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// claimAll waits for its standard input to end, opens the ledger, creates its
// schema and tries to claim and complete every key. It prints what it won.
func claimAll(driverName, file, name string, share bool) error {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	db, err := sqlledger.OpenSQLite(driverName, file)
	if err != nil {
		return err
	}
	ctx := context.Background()
	ledger, err := plain.Open(ctx, db.Writer, sqlledger.WithReader(db.Reader), sqlledger.WithSharedCommits(share))
	if err != nil {
		return err
	}
	for i := range claimedKeys {
		c := runtime.Claim{ID: runtime.ID{Principal: "alice", Key: fmt.Sprint("k", i)}, Operation: name, Policy: "1 raw"}
		c.Terms = runtime.Terms{Lease: time.Hour, Retain: time.Hour}
		copy(c.Owner[:], name)
		_, won, err := ledger.Insert(ctx, c)
		if err != nil {
			return fmt.Errorf("insert %s: %w", c.Key, err)
		}
		if !won {
			continue
		}
		if stands, err := ledger.Complete(ctx, runtime.Completion{
			Fence: runtime.Fence{ID: c.ID, Generation: 1, Owner: c.Owner}, Terms: c.Terms,
			Answer: runtime.StoredAnswer{Status: 200, Headers: []byte{}, Body: []byte(name)},
		}); err != nil || !stands {
			return fmt.Errorf("complete %s: %v, %w", c.Key, stands, err)
		}
		fmt.Println("won", c.Key)
	}
	return db.Close()
}

// Several processes start on one file that does not exist yet: all of them
// create the schema, and each key has one winner, whether a process shares
// commits or not.
func TestProcesses(t *testing.T) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ledger.db")
			var claimers []*claimer
			for i := range 6 {
				claimers = append(claimers, startClaimer(t, driverName, file, fmt.Sprint("claimer ", i), i%2 == 0))
			}
			for _, c := range claimers {
				if line := c.line(); line != "ready" {
					t.Fatalf("%s said %q", c.name, line)
				}
			}
			for _, c := range claimers {
				if err := c.start.Close(); err != nil {
					t.Fatal(err)
				}
			}
			winners := map[string]string{}
			for _, c := range claimers {
				for line := c.line(); line != ""; line = c.line() {
					key, won := strings.CutPrefix(line, "won ")
					if !won {
						t.Errorf("%s said %q", c.name, line)
					} else if winners[key] != "" {
						t.Errorf("%s and %s both won %s", winners[key], c.name, key)
					}
					winners[key] = c.name
				}
				if err := c.command.Wait(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			p := harness.File(t, driverName, file)
			ledger, err := plain.Open(t.Context(), p.Writer)
			if err != nil {
				t.Fatal(err)
			}
			for i := range claimedKeys {
				id := runtime.ID{Principal: "alice", Key: fmt.Sprint("k", i)}
				row, found, err := ledger.Read(t.Context(), id)
				if err != nil || !found || !row.Completed || string(row.Answer.Body) != winners[id.Key] {
					t.Errorf("%s, won by %q: %+v, %v, %v", id.Key, winners[id.Key], row, found, err)
				}
			}
		})
	}
}

type claimer struct {
	name    string
	command *exec.Cmd
	start   io.Closer
	out     *bufio.Scanner
}

func startClaimer(t *testing.T, driverName, file, name string, share bool) *claimer {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary)
	command.Env = append(os.Environ(), claimerFile+"="+file, claimerDriver+"="+driverName, claimerName+"="+name, fmt.Sprintf("%s=%v", claimerShares, share))
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It has ended by itself unless the test failed.
		command.Process.Kill()
		command.Wait()
	})
	return &claimer{name, command, in, bufio.NewScanner(out)}
}

// line is the next line that a process prints, "" at the end.
func (c *claimer) line() string {
	c.out.Scan()
	return c.out.Text()
}
