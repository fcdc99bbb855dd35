package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

func TestCallersKeep(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		dsn := server.DSN(create(t))
		l := d.open(t, dsn, 4)
		rig.CallersKeep(t, l, age(t, openSQL(t, dsn, 1)), func(g *runtime.Guard, call runtime.Call, status int) (runtime.Result, error) {
			if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
				return runtime.DoTx(t.Context(), g, native, call, func(context.Context, pgx.Tx) (runtime.Answer, error) { return runtime.Answer{Status: status}, nil })
			}
			return runtime.DoTx(t.Context(), g, l.(runtime.TxLedger[sqlTx]), call, func(context.Context, sqlTx) (runtime.Answer, error) { return runtime.Answer{Status: status}, nil })
		})
	})
}
