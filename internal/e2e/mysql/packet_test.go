package mysql_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// small is a server that takes packets of a mebibyte at most.
func small(t *testing.T) *servers.MariaDB {
	t.Helper()
	s, err := servers.StartMariaDB("--max-allowed-packet=1M")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// An answer that fits the policy but not the server is answered with the
// sentinel, at once and by every replay; one that fits both is kept.
func TestAnswersOverThePacketLimit(t *testing.T) {
	s := small(t)
	for i, options := range [][]string{
		nil, {"interpolateParams=true"}, {"maxAllowedPacket=0"}, {"maxAllowedPacket=0", "interpolateParams=true"}, {"sql_mode=''"},
	} {
		t.Run(strings.Join(options, "&"), func(t *testing.T) {
			name := fmt.Sprintf("ledger_%d", i)
			if err := s.Create(name); err != nil {
				t.Fatal(err)
			}
			db := open(t, s.DSN(name, options...), 0)
			l, err := ledger.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			effects(t, db)
			g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) { p.ResponseMax = 32 << 20 })
			random := make([]byte, 1<<20-64<<10)
			rand.Read(random)
			for name, body := range map[string][]byte{
				"small":        []byte("small"),
				"random":       random,
				"all escaped":  bytes.Repeat([]byte("\x00"), 1<<20-64<<10),
				"half escaped": bytes.Repeat([]byte("'a"), 400<<10/2),
			} {
				wantAnswer(t, name, g, l, body, 201)
			}
			for name, size := range map[string]int{"over": 1<<20 + 1, "2 MiB": 2 << 20, "5 MiB": 5 << 20, "20 MiB": 20 << 20} {
				wantAnswer(t, name, g, l, bytes.Repeat([]byte("x"), size), 500)
			}
		})
	}
}

// wantAnswer works once outside and once in a transaction, and asks for both
// answers again.
func wantAnswer(t *testing.T, name string, g *runtime.Guard, l *sqlledger.Ledger, body []byte, want int) {
	t.Helper()
	answer := runtime.Answer{Status: 201, Body: body}
	runs := 0
	ways := map[string]func() (runtime.Result, error){
		"outside " + name: func() (runtime.Result, error) {
			return g.Do(t.Context(), call("outside "+name), func(context.Context) (runtime.Answer, error) { runs++; return answer, nil })
		},
		"inside " + name: func() (runtime.Result, error) {
			return runtime.DoTx(t.Context(), g, l, call("inside "+name), func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
				runs++
				_, err := tx.Exec("INSERT INTO effects VALUES (?)", name)
				return answer, err
			})
		},
	}
	for way, do := range ways {
		runs = 0
		for range 2 {
			result, err := do()
			if status(result, err) != want || want == 201 && !bytes.Equal(result.Answer.Body, body) {
				t.Errorf("%s: %d, %v; want %d", way, result.Answer.Status, err, want)
			}
			if want != 201 && !bytes.Contains(result.Answer.Body, []byte("idempotency_response_too_large")) {
				t.Errorf("%s: %.200s", way, result.Answer.Body)
			}
		}
		if runs != 1 {
			t.Errorf("%s ran %d times", way, runs)
		}
	}
	if row := read(t, l, "inside "+name); !row.Completed {
		t.Errorf("%s: %+v", name, row)
	}
}

// A server whose limit is raised takes what it refused before.
func TestPacketLimitIsLookedAtAgain(t *testing.T) {
	s := small(t)
	if err := s.Create("ledger"); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), open(t, s.DSN("ledger"), 0))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), 2<<20)
	f := insert(t, l, "k")
	if stands, err := l.Complete(t.Context(), completion(f, body)); stands || err == nil {
		t.Fatalf("Complete over the limit = %v, %v", stands, err)
	}
	if err := s.Run("SET GLOBAL max_allowed_packet = 16777216"); err != nil {
		t.Fatal(err)
	}
	// A connection has the limit that held when it was made.
	l, err = ledger.Open(t.Context(), open(t, s.DSN("ledger"), 0))
	if err != nil {
		t.Fatal(err)
	}
	if stands, err := l.Complete(t.Context(), completion(f, body)); !stands || err != nil {
		t.Errorf("Complete under the new limit = %v, %v", stands, err)
	}
	if row := read(t, l, "k"); !bytes.Equal(row.Answer.Body, body) {
		t.Errorf("the answer has %d bytes; want %d", len(row.Answer.Body), len(body))
	}
}

// What is too long for its column is refused, although the server would cut it.
func TestNothingIsTruncated(t *testing.T) {
	for _, options := range [][]string{nil, {"sql_mode=''"}} {
		l, db := newLedger(t, 0, options...)
		long := strings.Repeat("x", 256)
		for name, change := range map[string]func(*runtime.Claim){
			"principal": func(c *runtime.Claim) { c.Principal = long },
			"scope":     func(c *runtime.Claim) { c.Scope = long },
			"key":       func(c *runtime.Claim) { c.Key = long },
			"operation": func(c *runtime.Claim) { c.Operation = long },
			"policy":    func(c *runtime.Claim) { c.Policy = strings.Repeat("x", 1<<16) },
		} {
			c := newClaim("k")
			change(&c)
			if claimed, won, err := l.Insert(t.Context(), c); won || err == nil {
				t.Errorf("Insert with a long %s = %+v, %v, %v; want an error", name, claimed, won, err)
			}
		}
		longest := newClaim(strings.Repeat("k", 255))
		longest.Principal, longest.Scope, longest.Operation = strings.Repeat("p", 255), strings.Repeat("s", 255), strings.Repeat("o", 255)
		longest.Policy = strings.Repeat("x", 1<<16-1)
		if _, won, err := l.Insert(t.Context(), longest); !won || err != nil {
			t.Errorf("Insert of the longest = %v, %v", won, err)
		}
		row, _, err := l.Read(t.Context(), longest.ID)
		if err != nil || row.Policy != longest.Policy || row.Operation != longest.Operation {
			t.Errorf("the longest row is %d, %d bytes, %v", len(row.Policy), len(row.Operation), err)
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM idempotency_keys").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v; want one", n, err)
		}
	}
}
