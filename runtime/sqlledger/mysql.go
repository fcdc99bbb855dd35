package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// MySQLStatements are the statements of an emitted ledger on MySQL or MariaDB,
// which return no rows from writes: those that claim return the time of the
// claim or how many rows they changed, and Recognise reads what they wrote.
type MySQLStatements interface {
	// Insert returns the claim's time. A row that holds the key is a
	// duplicate, error 1062.
	Insert(context.Context, DBTX, InsertParams) (claimedAt int64, err error)
	// Recognise reads the pending claim of an owner.
	Recognise(context.Context, DBTX, OwnerParams) (Claimed, error)
	TakeOver(context.Context, DBTX, TakeOverParams) (int64, error)
	Reuse(context.Context, DBTX, ReuseParams) (int64, error)
	Renew(context.Context, DBTX, RenewParams) (int64, error)
	Read(context.Context, DBTX, ReadParams) (ReadRow, error)
	Complete(context.Context, DBTX, CompleteParams) (int64, error)
	Lock(context.Context, DBTX, FenceParams) (int64, error)
	Release(context.Context, DBTX, FenceParams) (int64, error)
	EndLease(context.Context, DBTX, FenceParams) (int64, error)
	// Confirm writes to the row of a claim.
	Confirm(context.Context, DBTX, FenceParams) (int64, error)
	SweepDue(context.Context, DBTX) (int64, error)
	SweepDrop(context.Context, DBTX, SweepParams) (int64, error)
	SweepDelete(context.Context, DBTX, SweepParams) (int64, error)
	Counts(context.Context, DBTX) ([]CountsRow, error)
	Erase(context.Context, DBTX, EraseParams) (int64, error)
	List(context.Context, DBTX, ListParams) ([]ListRow, error)
	Kept(context.Context, DBTX, KeptParams) (int64, error)
	SchemaVersion(context.Context, DBTX) (int64, error)
	// Table is the name of the ledger's table, behind its database's where it has one.
	Table() string
	// Schema creates what is missing, one statement per element.
	Schema() []string
}

// OwnerParams are a primary key and an owner token.
type OwnerParams struct {
	Principal string
	Scope     string
	Key       string
	Owner     []byte
}

// NewMySQL is [New] for MySQL and MariaDB. errorNumber tells the number of an
// error of the driver, 0 where it has none; a connection that broke is 2013
// (CR_SERVER_LOST).
//
// Connections must commit every statement by themselves (autocommit, the
// default). On a node of a Galera cluster they must read what other nodes have
// committed (wsrep_sync_wait=1). Both are checked.
func NewMySQL(ctx context.Context, db *sql.DB, errorNumber func(error) uint16, statements MySQLStatements, opts ...Option) (*Ledger, error) {
	if db == nil {
		return nil, errNoDatabase
	}
	o, err := newOptions(db, opts)
	if err != nil {
		return nil, err
	}
	engine := sqlcore.MySQL(errorNumber)
	asking := &core{Engine: engine, Limit: o.limit}
	var is map[string]string
	for _, pool := range []*sql.DB{o.reader, db} {
		err := asking.Retry(ctx, "settings", func(ctx context.Context, _ int) (err error) {
			is, err = variables(ctx, pool)
			return err
		})
		if err == nil {
			err = checkSession(is)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := sqlcore.CheckMySQL(is, o.weak); err != nil {
		return nil, err
	}
	l, err := New(ctx, db, engine, &mysql{MySQLStatements: statements, number: errorNumber}, append(opts[:len(opts):len(opts)], func(o *options) error {
		o.replicated = sqlcore.MySQLReplicated(is)
		return nil
	})...)
	if err != nil {
		return nil, err
	}
	var tableEngine string
	err = l.Retry(ctx, "settings", func(ctx context.Context, _ int) error {
		return db.QueryRowContext(ctx, `SELECT coalesce(max(t.engine), '') FROM information_schema.tables AS t
			WHERE concat(t.table_schema, '.', t.table_name) IN (?, concat(database(), '.', ?))`,
			statements.Table(), statements.Table()).Scan(&tableEngine)
	})
	if err == nil {
		err = sqlcore.CheckMySQLEngine(statements.Table(), tableEngine)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// checkSession refuses settings under which claims would be lost, or answers
// read that nobody committed or that are out of date.
func checkSession(is map[string]string) error {
	if is["autocommit"] != "ON" {
		return errors.New("connections of this pool have autocommit off, so that no claim would be committed: take it out of the data source name")
	}
	if is["tx_isolation"] == "READ-UNCOMMITTED" || is["transaction_isolation"] == "READ-UNCOMMITTED" {
		return errors.New("connections of this pool read what is not committed, so that answers would be replayed that never stood: let their isolation be READ-COMMITTED or above")
	}
	if is["wsrep_on"] != "ON" {
		return nil
	}
	var wait int
	if _, err := fmt.Sscan(is["wsrep_sync_wait"], &wait); err != nil || wait&1 == 0 {
		return errors.New("this server is a node of a Galera cluster, and connections of this pool may miss what another node has committed: add wsrep_sync_wait=1 to the data source name")
	}
	return nil
}

// variables are settings of a session, as far as the server has them.
func variables(ctx context.Context, db DBTX) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN
		('autocommit', 'tx_isolation', 'transaction_isolation', 'wsrep_on', 'wsrep_sync_wait', '`+strings.Join(sqlcore.MySQLVariables, "', '")+`')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		values[strings.ToLower(name)] = value
	}
	return values, rows.Err()
}

// mysql makes [Statements] of statements that return no rows.
type mysql struct {
	MySQLStatements
	number func(error) uint16
	packet atomic.Int64 // the server's limit of a packet, 0 before it is known
}

var _ Statements = (*mysql)(nil)

// Insert implements [Statements]. Whether a row that holds the key is the
// claim's own, which an earlier send of this statement wrote although its
// answer was lost, is looked at without a lock: then it gets the lease of this
// send.
func (m *mysql) Insert(ctx context.Context, db DBTX, p InsertParams) (Claimed, error) {
	if err := fits(p.Principal, p.Scope, p.Key, p.Operation, p.Policy); err != nil {
		return Claimed{}, err
	}
	now, err := m.MySQLStatements.Insert(ctx, db, p)
	if err == nil {
		return Claimed{Generation: 1, ClaimedAt: now, LeaseUntil: now + p.LeaseMs}, nil
	}
	if m.number(err) != sqlcore.MySQLDuplicate {
		return Claimed{}, err
	}
	own, err := m.Recognise(ctx, db, OwnerParams{Principal: p.Principal, Scope: p.Scope, Key: p.Key, Owner: p.Owner})
	if err != nil {
		return Claimed{}, err
	}
	return m.Renew(ctx, db, RenewParams{
		LeaseMs: p.LeaseMs, RetainMs: p.RetainMs, GoneMs: p.GoneMs,
		Principal: p.Principal, Scope: p.Scope, Key: p.Key, Generation: own.Generation, Owner: p.Owner,
	})
}

// Read implements [Statements].
func (m *mysql) Read(ctx context.Context, db DBTX, p ReadParams) (ReadRow, error) {
	row, err := m.MySQLStatements.Read(ctx, db, p)
	return row, m.outOfStep(err)
}

// Recognise implements [MySQLStatements].
func (m *mysql) Recognise(ctx context.Context, db DBTX, p OwnerParams) (Claimed, error) {
	claimed, err := m.MySQLStatements.Recognise(ctx, db, p)
	return claimed, m.outOfStep(err)
}

// SweepDue implements [Statements].
func (m *mysql) SweepDue(ctx context.Context, db DBTX) (int64, error) {
	due, err := m.MySQLStatements.SweepDue(ctx, db)
	return due, m.outOfStep(err)
}

// List implements [Statements].
func (m *mysql) List(ctx context.Context, db DBTX, p ListParams) ([]ListRow, error) {
	rows, err := m.MySQLStatements.List(ctx, db, p)
	return rows, m.outOfStep(err)
}

// Kept implements [Statements].
func (m *mysql) Kept(ctx context.Context, db DBTX, p KeptParams) (int64, error) {
	kept, err := m.MySQLStatements.Kept(ctx, db, p)
	return kept, m.outOfStep(err)
}

// outOfStep gives the error of a read its class. A read takes no lock: the error
// of a lock that did not come is how a node of Galera says that it cannot tell
// whether it has all that others have committed (wsrep_sync_wait).
func (m *mysql) outOfStep(err error) error {
	if err == nil || m.number(err) != lockWaitTimeout {
		return err
	}
	return fmt.Errorf("%w: the node is not in step with its cluster: %w", runtime.ErrUnavailable, err)
}

const lockWaitTimeout = 1205

// TakeOver implements [Statements].
func (m *mysql) TakeOver(ctx context.Context, db DBTX, p TakeOverParams) (Claimed, error) {
	n, err := m.MySQLStatements.TakeOver(ctx, db, p)
	if err != nil || n == 0 {
		return Claimed{}, lost(err)
	}
	return m.Recognise(ctx, db, OwnerParams{Principal: p.Principal, Scope: p.Scope, Key: p.Key, Owner: p.Owner})
}

// Reuse implements [Statements].
func (m *mysql) Reuse(ctx context.Context, db DBTX, p ReuseParams) (Claimed, error) {
	if err := fits(p.Principal, p.Scope, p.Key, p.Operation, p.Policy); err != nil {
		return Claimed{}, err
	}
	n, err := m.MySQLStatements.Reuse(ctx, db, p)
	if err != nil || n == 0 {
		return Claimed{}, lost(err)
	}
	return m.Recognise(ctx, db, OwnerParams{Principal: p.Principal, Scope: p.Scope, Key: p.Key, Owner: p.Owner})
}

// lost is the error of a write whose condition did not hold.
func lost(err error) error {
	if err == nil {
		return sql.ErrNoRows
	}
	return err
}

// Renew implements [Statements]. How many rows changed is no answer: a lease
// that is renewed twice in a millisecond changes none.
func (m *mysql) Renew(ctx context.Context, db DBTX, p RenewParams) (Claimed, error) {
	if _, err := m.MySQLStatements.Renew(ctx, db, p); err != nil {
		return Claimed{}, err
	}
	own, err := m.Recognise(ctx, db, OwnerParams{Principal: p.Principal, Scope: p.Scope, Key: p.Key, Owner: p.Owner})
	if err == nil && own.Generation != p.Generation {
		err = sql.ErrNoRows
	}
	return own, err
}

// EndLease implements [Statements]. A lease that is over stays as it is, so
// that no row changes.
func (m *mysql) EndLease(ctx context.Context, db DBTX, p FenceParams) (int64, error) {
	n, err := m.MySQLStatements.EndLease(ctx, db, p)
	if err != nil || n > 0 {
		return n, err
	}
	own, err := m.Recognise(ctx, db, OwnerParams{Principal: p.Principal, Scope: p.Scope, Key: p.Key, Owner: p.Owner})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil || own.Generation != p.Generation:
		return 0, err
	}
	return 1, nil
}

// conflicted implements lastTeller. The server's list of what its last statement
// met with is emptied by the next statement, so an error in it that rolled the
// transaction back was followed by nothing.
func (m *mysql) conflicted(ctx context.Context, tx *sql.Tx) bool {
	rows, err := tx.QueryContext(ctx, "SHOW WARNINGS")
	if err != nil {
		return false
	}
	defer rows.Close()
	conflicted := false
	for rows.Next() {
		var level, message string
		var number uint16
		if err := rows.Scan(&level, &number, &message); err != nil {
			return false
		}
		conflicted = conflicted || level == "Error" && sqlcore.MySQLRollsBack(number)
	}
	return conflicted && rows.Err() == nil
}

// fits refuses what is too long for its column: a server that is not strict
// would cut it.
func fits(principal, scope, key, operation, policy string) error {
	const short, long = 255, 1<<16 - 1
	for _, column := range []struct {
		name, text string
		max        int
	}{
		{"principal", principal, short}, {"scope", scope, short}, {"key", key, short}, {"operation", operation, short}, {"policy", policy, long},
	} {
		if len(column.text) > column.max {
			return fmt.Errorf("%w: the %s has %d bytes; its column takes %d", runtime.ErrRefused, column.name, len(column.text), column.max)
		}
	}
	return nil
}
