package bench_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	mysqlledger "github.com/idemgen/idemgen/example/orders/ledger/mysql"
	"github.com/idemgen/idemgen/prove/servers"
)

// startMariaDB starts a server whose commits are durable, when it is first
// needed, and opens a pool on it. Its counters are the whole server's.
var startMariaDB = sync.OnceValues(func() (*sql.DB, error) {
	server, err := servers.StartMariaDB("--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=256M")
	if err != nil {
		return nil, err
	}
	stops = append(stops, server.Stop)
	if err := server.Create("bench"); err != nil {
		return nil, err
	}
	db, err := sql.Open("mysql", server.DSN("bench", "interpolateParams=true"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	_, err = db.Exec("CREATE TABLE bare (`key` VARBINARY(255) PRIMARY KEY, fingerprint VARBINARY(32), status VARCHAR(9), code BIGINT, body LONGBLOB) ENGINE = InnoDB")
	return db, err
})

func openMariaDB(b *testing.B) store {
	b.Helper()
	db, err := startMariaDB()
	if err != nil {
		b.Fatal(err)
	}
	l, err := mysqlledger.Open(context.Background(), db)
	if err != nil {
		b.Fatal(err)
	}
	for _, table := range []string{"idempotency_keys", "bare"} {
		if _, err := db.Exec("TRUNCATE " + table); err != nil {
			b.Fatal(err)
		}
	}
	fill(b, db, poolSize)
	s := store{ledger: l, count: func() counts {
		c, err := countMariaDB(db)
		if err != nil {
			b.Fatal(err)
		}
		return c
	}}
	s.bareSQL(db, db,
		"INSERT IGNORE INTO bare (`key`, fingerprint, status) VALUES (?, ?, 'pending')",
		"UPDATE bare SET status = 'completed', code = ?, body = ? WHERE `key` = ? AND status = 'pending'",
		"SELECT fingerprint, code, body FROM bare WHERE `key` = ?")
	return s
}

// countMariaDB asks the server for statements, commits (reads count as such,
// too) and bytes of the redo log.
func countMariaDB(db *sql.DB) (counts, error) {
	rows, err := db.Query(`SHOW GLOBAL STATUS WHERE Variable_name IN
('Com_insert', 'Com_update', 'Com_delete', 'Com_select', 'Handler_commit', 'Innodb_os_log_written')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := counts{}
	for rows.Next() {
		var name string
		var value float64
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(name, "Com_"):
			c["statements"] += value
		case name == "Handler_commit":
			c["commits"] = value
		default:
			c["wal-B"] = value
		}
	}
	return c, rows.Err()
}
