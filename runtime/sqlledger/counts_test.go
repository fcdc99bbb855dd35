package sqlledger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// slowCounts are statements whose counting takes as long as a large table's.
type slowCounts struct{ *statements }

func (slowCounts) Counts(ctx context.Context, _ sqlledger.DBTX) ([]sqlledger.CountsRow, error) {
	select {
	case <-time.After(time.Minute):
		return []sqlledger.CountsRow{{Operation: "POST /orders", State: "completed", RowCount: 8_600_000}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Counting reads the whole table, and has more time than the statements of requests.
func TestCountsOfALargeTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := stubDB(t, &stub{})
		defer db.Close()
		l, err := sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, slowCounts{&statements{}})
		if err != nil {
			t.Fatal(err)
		}
		counts, err := l.Counts(t.Context())
		if err != nil || len(counts) != 1 || counts[0].Rows != 8_600_000 {
			t.Errorf("Counts = %+v, %v", counts, err)
		}
	})
}
