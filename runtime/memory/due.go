package memory

import "container/heap"

// dueQueue orders rows by sweep_at, the next one first.
type dueQueue []*row

// Len implements heap.Interface.
func (q dueQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q dueQueue) Less(i, j int) bool { return q[i].sweepAt < q[j].sweepAt }

// Swap implements heap.Interface.
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *dueQueue) Push(x any) {
	r := x.(*row)
	r.index = len(*q)
	*q = append(*q, r)
}

// Pop implements heap.Interface.
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	r.index = -1
	return r
}

// fix puts a row where its sweep_at belongs.
func (q *dueQueue) fix(r *row) {
	if r.index < 0 {
		heap.Push(q, r)
	} else {
		heap.Fix(q, r.index)
	}
}

func (q *dueQueue) remove(r *row) { heap.Remove(q, r.index) }
