package memory

import "github.com/idemgen/idemgen/runtime"

// Advance gives a row a recovery point, as phases do.
func (l *Ledger) Advance(id runtime.ID, point string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows.find(id).point = point
}
