package sim

import (
	"maps"

	"github.com/idemgen/idemgen/runtime"
)

// cutOff cuts the standby off: what is written from now on can be seen, and is not
// acknowledged. Whoever is tired of waiting for that gives up; his write stands.
func (w *world) cutOff() {
	w.table.standby = map[runtime.ID]*row{}
	for id, r := range w.table.rows {
		kept := *r
		kept.lock, kept.Answer = nil, clone(r.Answer)
		w.table.standby[id] = &kept
	}
	w.note(Event{Kind: CutOff})
}

// reconnect lets the standby have everything.
func (w *world) reconnect() {
	if w.table.standby == nil {
		return
	}
	w.table.standby = nil
	for _, r := range w.table.rows {
		r.ahead = false
	}
	w.note(Event{Kind: CaughtUp})
}

// failOver puts the standby in the primary's place. Open transactions are gone, and
// so is every answer that waited; again says which of their statements are sent to
// the new primary.
func (w *world) failOver(again func(*statement) bool) {
	for _, tx := range w.open {
		tx.lose()
		tx.give()
	}
	w.table.rows = maps.Clone(w.table.standby)
	w.table.standby = nil
	w.note(Event{Kind: FailedOver})
	for _, s := range w.pending {
		switch {
		case s.unheard || !s.executed || !s.waits:
		case s.tx == nil && !s.opens && again(s):
			s.executed, s.err = false, nil
		default:
			w.fail(s, runtime.ErrUnavailable)
		}
	}
}
