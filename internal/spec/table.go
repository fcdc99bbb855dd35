package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxTable is how long the name of a ledger's table may be. The names of its
// index and of its version's table derive from it, and PostgreSQL cuts names
// at 63 bytes.
const maxTable = 40

// tableForm is a table name: one or two lower-case identifiers. Names are
// written without quotes, and only lower-case ones mean the same on every
// engine then.
var tableForm = regexp.MustCompile(`^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$`)

// CheckTable checks the name of a ledger's table, or schema.table, for the
// engines that it is meant for; with none, for SQLite alone.
func CheckTable(name string, engines ...string) error {
	if len(engines) == 0 {
		engines = []string{"sqlite"}
	}
	switch {
	case len(name) > maxTable:
		return fmt.Errorf("table %q has %d characters: at most %d", name, len(name), maxTable)
	case !tableForm.MatchString(name):
		return fmt.Errorf("table %q is not an identifier: lower-case letters, digits and _, or schema.table", name)
	}
	schema, table, qualified := strings.Cut(name, ".")
	if !qualified {
		schema, table = "", schema
	}
	for _, reserved := range reservedWords {
		if reserved.engine != "" && !slices.Contains(engines, reserved.engine) {
			continue
		}
		// The table of the schema's version has a name that derives from it.
		for _, part := range []string{schema, table, table + "_schema"} {
			if slices.Contains(strings.Fields(reserved.words), part) {
				return fmt.Errorf("table %q: %s is a reserved word of %s", name, part, reserved.name)
			}
		}
	}
	// A name with its schema is never that of something else.
	for _, engine := range engines {
		if !qualified && slices.Contains(strings.Fields(ownNames[engine]), table) {
			return fmt.Errorf("table %q: the statements of a ledger for %s use the name for something else", name, engine)
		}
	}
	switch {
	case strings.HasPrefix(table, "sqlite_") && slices.Contains(engines, "sqlite"):
		return fmt.Errorf("table %q: SQLite keeps names that begin with sqlite_ to itself", name)
	case schema == "temp" && slices.Contains(engines, "sqlite"):
		return fmt.Errorf("table %q: SQLite's schema temp is another one for each connection", name)
	case strings.HasPrefix(schema, "pg_") && slices.Contains(engines, "postgres"):
		return fmt.Errorf("table %q: PostgreSQL keeps schemas that begin with pg_ to itself", name)
	}
	return nil
}

// ownNames are what the statements of an engine name themselves: a table of that
// name would be hidden there. A test holds them to the statements.
var ownNames = map[string]string{
	"sqlite": "answer_bytes due found kept mine now packed row_count state",
	"postgres": "absent answer_bytes before changed claimed_at completed d deleted dropped due env found free generation held " +
		"inserted k kept lease_until lock_limit lock_timeout mine now own part place restored row_count state",
	"mysql": "answer_bytes due found free gone held k kept mine now one row_count state",
}

// reservedWords are the words that cannot name a table without quotes: those of
// every engine, and then each engine's own.
var reservedWords = []struct{ engine, name, words string }{
	{"", "SQL", `
		all and as case check collate constraint create default distinct else except foreign from group having in
		intersect into is join limit not null on or order primary references returning select table then to union unique
		using when where`},
	{"sqlite", "SQLite", `
		add alter autoincrement between commit current_date current_time current_timestamp deferrable delete drop escape excluded exists if index insert isnull
		nothing notnull raise set transaction update values`},
	{"postgres", "PostgreSQL", `
		analyse analyze any array asc asymmetric authorization binary both cast collation column concurrently cross
		current_catalog current_date current_role current_schema current_time current_timestamp current_user deferrable
		desc do end excluded false fetch for freeze full grant ilike initially inner isnull lateral leading left like
		localtime localtimestamp natural notnull offset only outer overlaps placing right session_user similar some
		symmetric system_user tablesample trailing true user variadic verbose window with`},
	{"mysql", "MySQL", `
		accessible add alter analyze asc asensitive before between bigint binary blob both by call cascade change char
		character column condition continue convert cross cube cume_dist current_date current_role current_time
		current_timestamp current_user cursor database databases day_hour day_microsecond day_minute day_second dec
		decimal declare delayed delete delete_domain_id dense_rank desc describe deterministic distinctrow div do_domain_ids double drop dual each
		elseif empty enclosed escaped exists exit explain false fetch first_value float float4 float8 for force fulltext
		function generated get grant groups high_priority hour_microsecond hour_minute hour_second if ignore ignore_domain_ids index
		infile inner inout insensitive insert int int1 int2 int3 int4 int8 integer interval io_after_gtids
		io_before_gtids iterate json_table key keys kill lag last_value lateral lead leading leave left like linear
		lines load localtime localtimestamp lock long longblob longtext loop low_priority manual master_bind
		master_demote_to_replica master_demote_to_slave
		master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint minute_microsecond
		minute_second mod modifies natural no_write_to_binlog nth_value ntile numeric of offset optimize optimizer_costs option
		optionally out outer outfile over page_checksum parallel parse_vcol_expr partition percent_rank portion
		precision procedure purge qualify range rank read read_write reads real recursive ref_system_id regexp release
		rename repeat replace require resignal restrict return revoke right rlike row row_number rows schema schemas
		second_microsecond sensitive separator set show signal slow smallint spatial specific sql sql_big_result
		sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning ssl starting stats_auto_recalc
		stats_persistent stats_sample_pages stored straight_join system terminated tinyblob tinyint tinytext trailing
		trigger true undo unlock unsigned update usage use utc_date utc_time utc_timestamp value values varbinary varchar
		varcharacter varying virtual while window with write xor year_month zerofill`},
}
