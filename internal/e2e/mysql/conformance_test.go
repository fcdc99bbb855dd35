package mysql_test

import (
	"testing"

	"github.com/idemgen/idemgen/runtime/ledgertest"
)

// settings are connections under which the same must hold.
var settings = []struct {
	name        string
	connections int
	options     []string
}{
	{name: "Defaults"},
	{name: "OneConnection", connections: 1},
	{name: "Serializable", options: []string{"tx_isolation='SERIALIZABLE'"}},
	{name: "ReadCommitted", options: []string{"tx_isolation='READ-COMMITTED'"}},
	{name: "TimeZone", options: []string{"time_zone='%2B09:00'"}},
	{name: "ClientFoundRows", options: []string{"clientFoundRows=true"}},
	{name: "NotStrict", options: []string{"sql_mode=''"}},
	{name: "AnsiQuotes", options: []string{"sql_mode='ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL'"}},
	{name: "InterpolateParams", options: []string{"interpolateParams=true"}},
	{name: "InterpolateParamsNoBackslash", options: []string{"interpolateParams=true", "sql_mode='NO_BACKSLASH_ESCAPES'"}},
	{name: "Latin1", options: []string{"charset=latin1"}},
}

func TestLedger(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
				l, db := newLedger(t, s.connections, s.options...)
				return ledgertest.Harness{Ledger: l, Age: age(t, db), Advance: advance(t, db, "idempotency_keys")}
			})
		})
	}
}

func TestTransactions(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
				l, db := newLedger(t, s.connections, s.options...)
				h := ledgertest.TxHarness{Ledger: l, DB: db, Age: age(t, db)}
				if s.connections != 1 {
					h.Reader = db
				}
				return h
			})
		})
	}
}
