package sqlcore

import (
	"strings"
	"testing"
)

// Settings under which commits that were acknowledged may be lost are refused by
// their name, unless they are meant; versions that cannot serve are refused always.
func TestSettingsOfPostgres(t *testing.T) {
	good := PostgresSettings{Version: 170_002, SynchronousCommit: "on", Fsync: "on", FullPageWrites: "on"}
	for says, change := range map[string]func(*PostgresSettings){
		"":                                 func(*PostgresSettings) {},
		"least version is 12":              func(s *PostgresSettings) { s.Version = 110_022 },
		"synchronous_commit":               func(s *PostgresSettings) { s.SynchronousCommit = "off" },
		"fsync = off":                      func(s *PostgresSettings) { s.Fsync = "off" },
		"full_page_writes = off":           func(s *PostgresSettings) { s.FullPageWrites = "off" },
		"(local is one machine's)":         func(s *PostgresSettings) { s.SynchronousCommit, s.Standbys = "local", "*" },
		"(remote_write is a standby's)":    func(s *PostgresSettings) { s.SynchronousCommit, s.Standbys = "remote_write", "*" },
		"(a server that has no such word)": func(s *PostgresSettings) { s.Fsync, s.FullPageWrites = "", "" },
	} {
		s := good
		change(&s)
		wantSaid(t, s.Check(false), says)
		if old := strings.Contains(says, "version"); (s.Check(true) != nil) != old {
			t.Errorf("%s, where it is meant: %v", says, s.Check(true))
		}
		if want := s.Standbys != "" && s.SynchronousCommit != "local"; s.Replicated() != want {
			t.Errorf("%+v waits for a standby: %v", s, s.Replicated())
		}
	}
}

func TestSettingsOfMySQL(t *testing.T) {
	for says, is := range map[string]map[string]string{
		"":                          {"version": "10.11.6-MariaDB-0+deb12u1", "innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF", "sync_binlog": "0"},
		"(3 is more than 1)":        {"version": "10.11.6-MariaDB", "innodb_flush_log_at_trx_commit": "3", "innodb_doublewrite": "ON"},
		"(the name for old)":        {"version": "5.5.5-10.6.1-MariaDB", "innodb_flush_log_at_trx_commit": "1"},
		"(binary log)":              {"version": "8.4.0", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "1"},
		"least version is 10.6":     {"version": "10.5.23-MariaDB"},
		"the least version is 8.0":  {"version": "5.7.44-log"},
		"trx_commit is 0":           {"version": "8.0.36", "innodb_flush_log_at_trx_commit": "0"},
		"trx_commit is 2":           {"version": "11.4.2-MariaDB", "innodb_flush_log_at_trx_commit": "2"},
		"innodb_doublewrite is OFF": {"version": "8.0.36", "innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "OFF"},
		"sync_binlog is 0":          {"version": "10.11.6-MariaDB", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "0"},
		"sync_binlog is 100":        {"version": "8.0.36", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "100"},
	} {
		wantSaid(t, CheckMySQL(is, false), says)
		if old := strings.Contains(says, "version"); (CheckMySQL(is, true) != nil) != old {
			t.Errorf("%s, where it is meant: %v", says, CheckMySQL(is, true))
		}
	}
	wantSaid(t, CheckMySQLEngine("keys", "MyISAM"), "needs InnoDB")
	wantSaid(t, CheckMySQLEngine("keys", "InnoDB"), "")
	wantSaid(t, CheckUnlogged("keys", 1), "unlogged")
	wantSaid(t, CheckUnlogged("keys", 0), "")
}

func TestSettingsOfSQLite(t *testing.T) {
	for _, c := range []struct {
		journal     string
		synchronous int
		says        string
	}{
		{"wal", 2, ""}, {"wal", 3, ""}, {"delete", 2, ""}, {"truncate", 3, ""}, {"persist", 2, ""},
		{"wal", 1, "synchronous is NORMAL"}, {"WAL", 0, "synchronous is OFF"}, {"delete", 1, "synchronous is NORMAL"},
		{"memory", 2, "journal_mode"}, {"off", 3, "journal_mode"}, {"wal", 9, "synchronous is 9"},
	} {
		wantSaid(t, CheckSQLite("main", c.journal, c.synchronous), c.says)
	}
	for version, says := range map[string]string{"3.41.2": "least version is 3.42", "3.42.0": "", "3.50.4": "", "4.0.0": "", "unreadable": ""} {
		wantSaid(t, CheckSQLiteVersion(version), says)
	}
}

// wantSaid checks what an error says; nothing, or a remark, is no error.
func wantSaid(t *testing.T, err error, says string) {
	t.Helper()
	if says == "" || strings.HasPrefix(says, "(") {
		if err != nil {
			t.Errorf("%s: %v", says, err)
		}
	} else if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v; want an error that says %q", err, says)
	}
}
