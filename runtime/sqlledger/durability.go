package sqlledger

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// WithWeakDurability says that it is meant when the database may lose what it has
// acknowledged: PostgreSQL with synchronous_commit, fsync or full_page_writes off,
// or with an unlogged table; MySQL and MariaDB whose innodb_flush_log_at_trx_commit
// or sync_binlog is not 1, or without innodb_doublewrite; SQLite whose synchronous
// is below FULL, or whose journal is in memory or off. Without this option [New]
// refuses such settings: after a crash an answer that was given is gone, and its
// request is run again.
func WithWeakDurability() Option {
	return func(o *options) error {
		o.weak = true
		return nil
	}
}

// checkBefore refuses databases that are too old or whose settings are weak, before
// anything is written.
func (l *Ledger) checkBefore(ctx context.Context, o options) error {
	switch {
	case l.Engine.OneWriter:
		return l.checkSQLite(ctx, o.weak)
	case l.Engine.Name == sqlcore.Postgres.Name:
		return l.checkPostgres(ctx, o.weak)
	}
	return nil
}

// checkAfter refuses tables that lose rows.
func (l *Ledger) checkAfter(ctx context.Context, o options) error {
	if l.Engine.Name != sqlcore.Postgres.Name || o.weak {
		return nil
	}
	var unlogged int64
	err := l.Retry(ctx, "settings", func(ctx context.Context, _ int) error {
		return l.db.QueryRowContext(ctx, sqlcore.PostgresUnloggedQuery, l.Statements.Table()).Scan(&unlogged)
	})
	if err != nil {
		return err
	}
	return sqlcore.CheckUnlogged(l.Statements.Table(), unlogged)
}

func (l *Ledger) checkPostgres(ctx context.Context, weak bool) error {
	var s sqlcore.PostgresSettings
	err := l.Retry(ctx, "settings", func(ctx context.Context, _ int) error {
		return l.db.QueryRowContext(ctx, sqlcore.PostgresSettingsQuery).
			Scan(&s.Version, &s.SynchronousCommit, &s.Fsync, &s.FullPageWrites, &s.Standbys)
	})
	if err != nil {
		return err
	}
	l.Doubted.Store(s.Replicated())
	return s.Check(weak)
}

// sqliteFile is a file of a connection and its settings.
type sqliteFile struct {
	name        string
	journal     string
	synchronous int
}

func (l *Ledger) checkSQLite(ctx context.Context, weak bool) error {
	var versions []string
	var files []sqliteFile
	err := l.Retry(ctx, "settings", func(ctx context.Context, _ int) (err error) {
		conn, err := l.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if versions, err = namesOf(ctx, conn, `SELECT sqlite_version() FROM pragma_database_list WHERE name = 'main'`); err != nil {
			return err
		}
		files, err = filesOf(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	for _, version := range versions {
		if err := sqlcore.CheckSQLiteVersion(version); err != nil {
			return err
		}
	}
	if weak {
		return nil
	}
	for _, f := range files {
		if err := sqlcore.CheckSQLite(f.name, f.journal, f.synchronous); err != nil {
			return err
		}
	}
	return nil
}

// filesOf reads the settings of a connection's files. A database in memory has none.
func filesOf(ctx context.Context, conn *sql.Conn) (files []sqliteFile, err error) {
	found, err := namesOf(ctx, conn, `SELECT s.synchronous || ' ' || l.name FROM pragma_database_list AS l JOIN pragma_synchronous AS s
		ON s.schema = l.name WHERE l.name <> 'temp' AND l.file <> ''`)
	if err != nil {
		return nil, err
	}
	for _, text := range found {
		number, name, _ := strings.Cut(text, " ")
		synchronous, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		journal, err := namesOf(ctx, conn, journalMode(name))
		if err != nil {
			return nil, err
		}
		files = append(files, sqliteFile{name, strings.Join(journal, " "), synchronous})
	}
	return files, nil
}

// journalMode is the statement that reads the journal mode of a file.
func journalMode(file string) string {
	return `PRAGMA "` + strings.ReplaceAll(file, `"`, `""`) + `".journal_mode`
}
