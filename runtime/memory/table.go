package memory

import (
	"hash/maphash"
	"iter"

	"github.com/idemgen/idemgen/runtime"
)

// table finds rows by their keys. A map of whole keys would hash three strings
// with every look-up and once more whenever it grows, and hold them twice.
type table struct {
	hash func(runtime.ID) uint64
	rows map[uint64]*row // the first of those whose keys have that hash
	kept map[string]int  // how many rows a principal has
}

func newTable() table {
	seed := maphash.MakeSeed()
	return table{
		hash: func(id runtime.ID) uint64 { return maphash.Comparable(seed, id) },
		rows: map[uint64]*row{},
		kept: map[string]int{},
	}
}

// find returns the row of a key, or nil.
func (t *table) find(id runtime.ID) *row {
	r := t.rows[t.hash(id)]
	for r != nil && r.id != id {
		r = r.next
	}
	return r
}

// add takes in a row whose key no row has.
func (t *table) add(r *row) {
	hash := t.hash(r.id)
	r.next = t.rows[hash]
	t.rows[hash] = r
	t.kept[r.id.Principal]++
}

// remove takes out a row that is there.
func (t *table) remove(r *row) {
	if t.kept[r.id.Principal]--; t.kept[r.id.Principal] == 0 {
		delete(t.kept, r.id.Principal)
	}
	hash := t.hash(r.id)
	first := t.rows[hash]
	switch {
	case first != r:
		for first.next != r {
			first = first.next
		}
		first.next = r.next
	case r.next != nil:
		t.rows[hash] = r.next
	default:
		delete(t.rows, hash)
	}
}

// all are the rows, in no order. The row at hand may be removed.
func (t *table) all() iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for _, r := range t.rows {
			for r != nil {
				next := r.next
				if !yield(r) {
					return
				}
				r = next
			}
		}
	}
}
