package sqlcore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a ledger promises hangs on settings of its database: an answer that was
// given is there after a crash of the server, and after a power cut. They are read
// when a ledger is opened.

// weak is the error of a setting under which commits that were acknowledged may be
// lost.
func weak(format string, args ...any) error {
	return fmt.Errorf("idemgen: "+format+": an answer that was given could be lost in a crash, and its request run again; change the setting, or open the ledger with WithWeakDurability", args...)
}

// The least versions that have what the statements need.
const (
	leastPostgres = 12 // materialized common table expressions
	leastSQLite   = "3.42"
	leastMariaDB  = "10.6" // SKIP LOCKED
	leastMySQL    = "8.0"  // SKIP LOCKED, NOWAIT
)

// PostgresSettingsQuery reads what [PostgresSettings] has, in its order.
const PostgresSettingsQuery = `SELECT current_setting('server_version_num')::bigint, current_setting('synchronous_commit'),
	coalesce(current_setting('fsync', true), ''), coalesce(current_setting('full_page_writes', true), ''),
	coalesce(current_setting('synchronous_standby_names', true), '')`

// PostgresUnloggedQuery counts the tables of the ledger, and their partitions, that
// lose their rows in a crash. Its argument is the ledger's table.
const PostgresUnloggedQuery = `SELECT count(*) FROM pg_catalog.pg_class AS c WHERE c.relpersistence <> 'p' AND (
	c.oid = $1::text::regclass OR c.oid IN (SELECT t.relid FROM pg_catalog.pg_partition_tree($1::text::regclass) AS t))`

// PostgresSettings are those of a session.
type PostgresSettings struct {
	Version           int64
	SynchronousCommit string
	Fsync             string
	FullPageWrites    string
	Standbys          string
}

// Replicated says whether the session's commits wait for a standby.
func (s PostgresSettings) Replicated() bool {
	return strings.TrimSpace(s.Standbys) != "" && s.SynchronousCommit != "off" && s.SynchronousCommit != "local"
}

// Check refuses what is too old and, unless that is meant, what is not durable.
func (s PostgresSettings) Check(weakMeant bool) error {
	switch {
	case s.Version < leastPostgres*10_000:
		return fmt.Errorf("idemgen: this is PostgreSQL %d; the least version is %d", s.Version/10_000, leastPostgres)
	case weakMeant:
	case s.SynchronousCommit == "off":
		return weak("synchronous_commit is off in this pool's sessions")
	case s.Fsync == "off":
		return weak("the server runs with fsync = off")
	case s.FullPageWrites == "off":
		return weak("the server runs with full_page_writes = off")
	}
	return nil
}

// CheckUnlogged refuses tables that lose their rows.
func CheckUnlogged(table string, unlogged int64) error {
	if unlogged == 0 {
		return nil
	}
	return weak("%s is an unlogged table, or a partition of it is", table)
}

// MySQLVariables are those that [CheckMySQL] reads.
var MySQLVariables = []string{"version", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin", "sync_binlog",
	"rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"}

// CheckMySQL is [PostgresSettings.Check] for MySQL and MariaDB, whose variables are
// given by their names in lower case.
func CheckMySQL(is map[string]string, weakMeant bool) error {
	version := is["version"]
	name, least := "MySQL", leastMySQL
	if strings.Contains(version, "MariaDB") {
		name, least = "MariaDB", leastMariaDB
		version = strings.TrimPrefix(version, "5.5.5-") // for clients that know no other
	}
	if older(version, least) {
		return fmt.Errorf("idemgen: this is %s %s; the least version is %s", name, version, least)
	}
	flush := is["innodb_flush_log_at_trx_commit"]
	switch {
	case weakMeant:
	case flush != "" && flush != "1" && flush != "3": // 3 is MariaDB's, and more than 1
		return weak("innodb_flush_log_at_trx_commit is %s", flush)
	case slices.Contains([]string{"OFF", "0", "DETECT_ONLY"}, strings.ToUpper(is["innodb_doublewrite"])):
		return weak("innodb_doublewrite is %s", is["innodb_doublewrite"])
	case is["log_bin"] == "ON" && is["sync_binlog"] != "" && is["sync_binlog"] != "1":
		// What is prepared and not in the binary log is rolled back after a crash.
		return weak("the server writes a binary log, and sync_binlog is %s", is["sync_binlog"])
	}
	return nil
}

// MySQLReplicated says whether commits wait for a replica.
func MySQLReplicated(is map[string]string) bool {
	return is["rpl_semi_sync_master_enabled"] == "ON" || is["rpl_semi_sync_source_enabled"] == "ON"
}

// CheckMySQLEngine refuses tables without transactions, or that lose their rows.
func CheckMySQLEngine(table, engine string) error {
	if engine == "" || strings.EqualFold(engine, "InnoDB") {
		return nil
	}
	return fmt.Errorf("idemgen: the table %s is of the engine %s; the ledger needs InnoDB", table, engine)
}

// CheckSQLiteVersion refuses what is too old. What cannot be read is not judged.
func CheckSQLiteVersion(version string) error {
	if older(version, leastSQLite) {
		return fmt.Errorf("idemgen: this is SQLite %s; the least version is %s: update the driver", version, leastSQLite)
	}
	return nil
}

// CheckSQLite refuses, for one file of a database, what is not durable. Synchronous
// is its number.
func CheckSQLite(file, journal string, synchronous int) error {
	names := []string{"OFF", "NORMAL", "FULL", "EXTRA"}
	if synchronous < 0 || synchronous >= len(names) {
		return errors.New("idemgen: SQLite says that synchronous is " + strconv.Itoa(synchronous))
	}
	const full = 2
	switch journal = strings.ToLower(journal); {
	case journal == "off", journal == "memory":
		return weak("the journal_mode of %q is %s", file, journal)
	case synchronous < full:
		return weak("synchronous is %s for %q in this pool's connections, with journal_mode = %s", names[synchronous], file, journal)
	}
	return nil
}

// older compares the first two numbers of two versions. What is none is not judged.
func older(version, least string) bool {
	var v, l [2]int
	if n, _ := fmt.Sscanf(version, "%d.%d", &v[0], &v[1]); n < 2 {
		return false
	}
	fmt.Sscanf(least, "%d.%d", &l[0], &l[1])
	return slices.Compare(v[:], l[:]) < 0
}
