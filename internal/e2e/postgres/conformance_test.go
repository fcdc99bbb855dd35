package postgres_test

import (
	"testing"

	"github.com/idemgen/idemgen/prove/servers"
)

// settings are what a user's database, role or pool may be set to.
var settings = []struct {
	name        string
	database    []string // defaults of its sessions
	words       []string // of the connection string
	connections int
}{
	{name: "Defaults"},
	{name: "Serializable", database: []string{"default_transaction_isolation TO 'serializable'"}},
	{name: "RepeatableRead", database: []string{"default_transaction_isolation TO 'repeatable read'"}},
	{name: "TimeZone", words: []string{"timezone=Asia/Tokyo"}},
	{name: "DaylightSaving", database: []string{"timezone TO 'Europe/Berlin'"}},
	{name: "OneConnection", connections: 1},
	{name: "NothingPrepared", words: []string{"default_query_exec_mode=exec"}},
	{name: "Timeouts", database: []string{"lock_timeout TO '1min'", "statement_timeout TO '1min'", "idle_in_transaction_session_timeout TO '1min'"}},
	{name: "Output", database: []string{"bytea_output TO 'escape'", "standard_conforming_strings TO off", "DateStyle TO 'German'", "IntervalStyle TO 'iso_8601'"}},
	{name: "GenericPlans", database: []string{"plan_cache_mode TO 'force_generic_plan'"}},
}

func TestConformance(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			conforms := func(t *testing.T, d driver) {
				t.Parallel()
				database := create(t, s.database...)
				beside := openSQL(t, server.DSN(database), 2)
				d.conformance(t, server.DSN(database, s.words...), s.connections, beside)
			}
			eachDriver(t, conforms)
			if s.name == "Defaults" {
				t.Run(apart.name, func(t *testing.T) { conforms(t, apart) })
			}
		})
	}
}

// Behind a pooler in transaction mode, each transaction meets another session.
// Ledgers find that out. (A handler's own statements through database/sql are
// its driver's matter, so that the suites' transactions run where it prepares
// nothing.)
func TestConformanceBehindPgBouncer(t *testing.T) {
	pooler, err := servers.StartPgBouncer(server, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pooler.Stop)
	eachDriver(t, func(t *testing.T, d driver) {
		for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
			if d.name == "sql" && mode == "cache_statement" {
				continue // see TestOrdersBehindPgBouncer
			}
			t.Run(mode, func(t *testing.T) {
				database := create(t)
				beside := openSQL(t, server.DSN(database), 2)
				d.conformance(t, pooler.DSN(database, "default_query_exec_mode="+mode), 0, beside)
			})
		}
	})
}
