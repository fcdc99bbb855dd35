package runtime

import "sync"

// retakes lets one request of a process at a time take a key over. A takeover may
// meet the lock of a handler that is still at work: the others would meet it, too,
// each with a connection. Safe for concurrent use.
type retakes struct {
	mu   sync.Mutex
	keys map[ID]struct{}
}

// begin reports false while another request takes the key over; otherwise end must
// be called.
func (r *retakes) begin(id ID) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.keys[id]; busy {
		return nil, false
	}
	if r.keys == nil {
		r.keys = map[ID]struct{}{}
	}
	r.keys[id] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.keys, id)
	}, true
}
