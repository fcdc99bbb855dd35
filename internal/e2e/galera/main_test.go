// Package galera_test runs ledgers on a MariaDB Galera cluster of three nodes.
package galera_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

const nodes = 3

// cluster is started once for all tests.
var cluster *servers.Galera

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if cluster, err = servers.StartGalera(nodes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer cluster.Stop()
	return m.Run()
}

// create makes an empty database for one test, and waits until every node has
// it.
func create(t testing.TB, name string) string {
	t.Helper()
	if err := cluster.Nodes[0].Create(name); err != nil {
		t.Fatal(err)
	}
	for _, node := range cluster.Nodes {
		if err := node.Run("SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COUNT(*) FROM mysql.user"); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// open opens a pool to a node, whose reads wait for what other nodes have
// committed.
func open(t testing.TB, node int, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", cluster.Nodes[node].DSN(name, "wsrep_sync_wait=1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() }) // the node may have been killed
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	return db
}

// ledgers are one ledger, through each of the nodes.
func ledgers(t testing.TB, name string) (all [nodes]*sqlledger.Ledger) {
	t.Helper()
	for i := range all {
		l, err := ledger.Open(t.Context(), open(t, i, name))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = l
	}
	return all
}

// guards are servers, one at each of the nodes.
func guards(t testing.TB, all [nodes]*sqlledger.Ledger, change func(*runtime.Policy)) (guards [nodes]*runtime.Guard) {
	t.Helper()
	for i, l := range all {
		guards[i] = rig.NewGuard(t, rig.NewEngine(t, l), change)
	}
	return guards
}
