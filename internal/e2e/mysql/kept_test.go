package mysql_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

func TestCallersKeep(t *testing.T) {
	l, db := newLedger(t, 4)
	rig.CallersKeep(t, l, age(t, db), func(g *runtime.Guard, call runtime.Call, status int) (runtime.Result, error) {
		return runtime.DoTx(t.Context(), g, l, call, func(context.Context, *sql.Tx) (runtime.Answer, error) { return runtime.Answer{Status: status}, nil })
	})
}
