package mysql_test

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/ledgertest"
)

// The clocks of Berlin are set back at 01:00 UTC on 25 October 2026: local time
// runs from 02:00 to 03:00 twice.
var fold = map[string]time.Time{
	"first":  time.Date(2026, 10, 25, 0, 30, 0, 789_000_000, time.UTC),
	"second": time.Date(2026, 10, 25, 1, 30, 0, 789_000_000, time.UTC),
}

const zone = "Europe/Berlin"

var loadZone = sync.OnceValue(func() error { return server.LoadTimeZone(zone) })

// at are parameters of connections whose clock stands at a time.
func at(now time.Time) []string {
	return []string{"time_zone=" + url.QueryEscape("'"+zone+"'"), fmt.Sprintf("timestamp=%d.%06d", now.Unix(), now.Nanosecond()/1000)}
}

func TestTimesInADaylightSavingFold(t *testing.T) {
	if err := loadZone(); err != nil {
		t.Fatal(err)
	}
	off := 0
	for name, now := range fold {
		t.Run(name, func(t *testing.T) {
			l, db := newLedger(t, 0, at(now)...)
			insert(t, l, "k")
			if row := read(t, l, "k"); row.Now != now.UnixMilli() || row.ClaimedAt != now.UnixMilli() || row.LeaseUntil != now.Add(lease).UnixMilli() {
				t.Errorf("at %d the row is %+v", now.UnixMilli(), row)
			}
			var local int64
			if err := db.QueryRow("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)").Scan(&local); err != nil {
				t.Fatal(err)
			}
			if local != now.UnixMilli() {
				off++
			}
		})
	}
	if off == 0 {
		t.Error("local time tells the two hours apart, so the test shows nothing")
	}
}

// The clock stands still in these, which the suite does not mind.
func TestLedgerInADaylightSavingFold(t *testing.T) {
	if err := loadZone(); err != nil {
		t.Fatal(err)
	}
	for name, now := range fold {
		t.Run(name, func(t *testing.T) {
			ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
				l, db := newLedger(t, 0, at(now)...)
				return ledgertest.Harness{Ledger: l, Age: age(t, db), Advance: advance(t, db, "idempotency_keys")}
			})
			ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
				l, db := newLedger(t, 0, at(now)...)
				return ledgertest.TxHarness{Ledger: l, DB: db, Age: age(t, db), Reader: db}
			})
		})
	}
}
