package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// A table behaves as a map does, also where all keys have one hash.
func TestTable(t *testing.T) {
	for name, hash := range map[string]func(runtime.ID) uint64{
		"hashes": newTable().hash,
		"few":    func(id runtime.ID) uint64 { return uint64(len(id.Key)) },
		"one":    func(runtime.ID) uint64 { return 7 },
	} {
		t.Run(name, func(t *testing.T) {
			table, want := newTable(), map[runtime.ID]*row{}
			table.hash = hash
			random := rand.New(rand.NewPCG(1, 1))
			for range 5000 {
				id := runtime.ID{Principal: "alice", Key: fmt.Sprint(random.IntN(120))}
				if got := table.find(id); got != want[id] {
					t.Fatalf("%v: got %v, want %v", id, got, want[id])
				}
				if r := want[id]; r != nil {
					table.remove(r)
					delete(want, id)
				} else {
					want[id] = &row{id: id}
					table.add(want[id])
				}
			}
			for r := range table.all() {
				if want[r.id] != r {
					t.Fatalf("%v is there", r.id)
				}
				delete(want, r.id)
				table.remove(r)
			}
			if len(want) > 0 || len(table.rows) > 0 {
				t.Errorf("%d rows were not there, %d could not be removed", len(want), len(table.rows))
			}
		})
	}
}
