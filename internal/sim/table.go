package sim

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// table is the model of the ledger's table. Each method is one statement: it
// tests its own condition and changes the rows at once. It is written from the
// contract of runtime.Ledger alone and tells every change to note. One
// goroutine at a time may use it.
type table struct {
	variant Variant
	clock   func() int64 // epoch milliseconds
	note    func(Event)
	rows    map[runtime.ID]*row
	unseen  map[runtime.ID]*transaction // that claim a key and have not ended
	standby map[runtime.ID]*row         // what a standby has that is cut off; nil: all of it
	waits   bool                        // the statement that was executed last must be durable to count
}

// row is a row with the columns that runtime.Row does not show.
type row struct {
	runtime.Row
	id        runtime.ID // as its owner named it
	createdAt int64
	sweepAt   int64
	lock      *transaction // that has written the row and has not ended
	ahead     bool         // the standby does not have it as it is
}

// errRefused is an error that time does not mend, such as a packet limit.
var errRefused = fmt.Errorf("%w: it is too heavy", runtime.ErrRefused)

// at finds a row.
func (t *table) at(id runtime.ID) *row { return t.rows[t.key(id)] }

func (t *table) key(id runtime.ID) runtime.ID {
	if t.variant == SharedPrincipals {
		id.Principal = ""
	}
	return id
}

// held finds the pending row on which a fence holds.
func (t *table) held(f runtime.Fence) *row {
	r := t.at(f.ID)
	if r == nil || r.Completed || r.Owner != f.Owner || r.Generation != f.Generation {
		return nil
	}
	return r
}

// expired says whether the promise of a row is over.
func (t *table) expired(r *row, now int64) bool {
	if t.variant == ExpiredBeatsLease {
		return r.ExpiresAt <= now
	}
	return r.ExpiresAt <= now && (r.Completed || r.LeaseUntil <= now)
}

// lease starts a lease now.
func (t *table) lease(r *row, now int64, terms runtime.Terms) {
	r.LeaseUntil = now + terms.Lease.Milliseconds()
	switch {
	case t.variant != ExpiredBeatsLease:
		expire(r, r.LeaseUntil+terms.Retain.Milliseconds(), terms.Gone)
	case r.Generation == 1 && r.ExpiresAt == 0:
		expire(r, now+terms.Retain.Milliseconds(), terms.Gone)
	}
}

func expire(r *row, at int64, gone time.Duration) {
	r.ExpiresAt, r.GoneAt, r.sweepAt = at, at+gone.Milliseconds(), at
}

func claimed(r *row, now int64) runtime.Claimed {
	return runtime.Claimed{Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil, Now: now}
}

// wrote says that a row was changed, or was found as the statement would have put
// it: whoever is told of that relies on it.
func (t *table) wrote(r *row) {
	t.waits = true
	if t.standby != nil {
		r.ahead = true
	}
}

// recognised is wrote for a row that was found so.
func (t *table) recognised(r *row) {
	if t.variant != EarlyRecognition {
		t.wrote(r)
	}
}

// won tells of a claim.
func (t *table) won(kind Kind, r *row, c runtime.Claim, now int64) (runtime.Claimed, bool) {
	t.wrote(r)
	t.note(Event{Kind: kind, Clock: now, Fence: runtime.Fence{ID: c.ID, Generation: r.Generation, Owner: r.Owner}, Terms: c.Terms, Fencing: r.ClaimedAt})
	return claimed(r, now), true
}

func (t *table) insert(c runtime.Claim) (runtime.Claimed, bool) {
	now := t.clock()
	if r := t.at(c.ID); r != nil {
		own := c.Again && r.Owner == c.Owner && !r.Completed
		if own {
			t.recognised(r)
		}
		return claimed(r, now), own || t.variant == InsertAlwaysWins
	}
	r := &row{id: c.ID}
	t.rows[t.key(c.ID)] = r
	t.reset(r, c, 1, now, now)
	return t.won(Inserted, r, c, now)
}

// reset gives a row to a claim that starts afresh.
func (t *table) reset(r *row, c runtime.Claim, generation, claimedAt, now int64) {
	*r = row{id: c.ID, createdAt: now, Row: runtime.Row{
		Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint,
		Generation: generation, Owner: c.Owner, ClaimedAt: claimedAt,
	}}
	t.lease(r, now, c.Terms)
}

func (t *table) read(id runtime.ID) (runtime.Row, bool) {
	r := t.at(id)
	if r == nil {
		return runtime.Row{}, false
	}
	if r.Completed && r.ahead && t.variant != EarlyReplay {
		t.waits = true
	}
	read := r.Row
	read.Now, read.Answer = t.clock(), clone(r.Answer)
	if t.variant == AlteredReplay {
		read.Answer.Headers = nil
	}
	return read, true
}

func (t *table) takeOver(seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool) {
	now := t.clock()
	r := t.at(c.ID)
	if r == nil || r.Completed {
		return runtime.Claimed{}, false
	}
	if r.Owner == c.Owner {
		t.recognised(r)
		return claimed(r, now), true
	}
	if t.variant == AgeOnlyTakeover {
		if now-r.createdAt < c.Lease.Milliseconds() {
			return runtime.Claimed{}, false
		}
	} else if r.Owner != seen.Owner || r.Generation != seen.Generation || r.LeaseUntil > now || r.ExpiresAt <= now {
		return runtime.Claimed{}, false
	}
	r.Generation++
	r.Owner = c.Owner
	r.ClaimedAt = t.fencing(r, now)
	t.lease(r, now, c.Terms)
	return t.won(TakenOver, r, c, now)
}

func (t *table) fencing(r *row, now int64) int64 {
	if t.variant == FencingFromClock {
		return now
	}
	return max(now, r.ClaimedAt+1)
}

func (t *table) reuse(seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool) {
	now := t.clock()
	r := t.at(c.ID)
	if r == nil {
		return runtime.Claimed{}, false
	}
	if r.Owner == c.Owner && !r.Completed {
		t.recognised(r)
		return claimed(r, now), true
	}
	if r.Owner != seen.Owner || r.Generation != seen.Generation || !t.expired(r, now) || r.GoneAt > now {
		return runtime.Claimed{}, false
	}
	t.reset(r, c, r.Generation+1, t.fencing(r, now), now)
	return t.won(Reused, r, c, now)
}

func (t *table) renew(f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool) {
	now := t.clock()
	r := t.held(f)
	if r == nil {
		return runtime.Claimed{}, false
	}
	if t.variant == EmptyRenewal {
		return runtime.Claimed{Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: now + terms.Lease.Milliseconds(), Now: now}, true
	}
	t.lease(r, now, terms)
	t.wrote(r)
	t.note(Event{Kind: Renewed, Clock: now, Fence: f, Terms: terms})
	return claimed(r, now), true
}

func (t *table) complete(c runtime.Completion) (bool, error) {
	if refused(c.Answer) {
		return false, errRefused
	}
	now := t.clock()
	r := t.held(c.Fence)
	switch own := t.at(c.ID); {
	case t.variant == UnfencedCompletion,
		t.variant == SecondCompletion && own != nil && own.Owner == c.Owner:
		r = own
	}
	if r == nil {
		r = t.at(c.ID)
		own := r != nil && r.Completed && r.Owner == c.Owner && r.Generation == c.Generation
		if own {
			t.recognised(r)
		}
		return own, nil
	}
	t.store(r, c, now)
	return true, nil
}

// store stores the answer that a statement of the time now was given.
func (t *table) store(r *row, c runtime.Completion, now int64) {
	r.Completed, r.Answer = true, clone(c.Answer)
	expire(r, now+c.Retain.Milliseconds(), c.Gone)
	t.wrote(r)
	t.note(Event{Kind: Completed, Clock: now, Fence: c.Fence, Terms: c.Terms, Answer: c.Answer})
}

func clone(a runtime.StoredAnswer) runtime.StoredAnswer {
	a.Headers, a.Body = bytes.Clone(a.Headers), bytes.Clone(a.Body)
	return a
}

func (t *table) release(f runtime.Fence) bool {
	r := t.held(f)
	if t.variant == OwnerlessRelease {
		if r = t.at(f.ID); r != nil && r.Completed {
			r = nil
		}
	}
	if r == nil {
		return false
	}
	delete(t.rows, t.key(f.ID))
	t.waits = true
	t.note(Event{Kind: Released, Clock: t.clock(), Fence: f})
	return true
}

func (t *table) endLease(f runtime.Fence) bool {
	now := t.clock()
	r := t.held(f)
	if r == nil {
		return false
	}
	r.LeaseUntil = min(r.LeaseUntil, now)
	t.wrote(r)
	t.note(Event{Kind: LeaseEnded, Clock: now, Fence: f})
	return true
}

// due finds rows that a sweep may clear, by sweep_at alone.
func (t *table) due(limit int) []*row {
	var due []*row
	for _, r := range t.rows {
		if r.sweepAt <= t.clock() && r.lock == nil {
			due = append(due, r)
		}
	}
	// Iteration order must not decide anything.
	slices.SortFunc(due, func(a, b *row) int { return compareIDs(a.id, b.id) })
	return due[:max(0, min(limit, len(due)))]
}

// sweep clears those of the rows that are still due, which is more than is
// asked of a ledger whose sweep is one statement: here anything may happen
// between finding the rows and clearing them.
func (t *table) sweep(rows []*row) int {
	now, swept := t.clock(), 0
	for _, r := range rows {
		still := t.at(r.id) == r && r.lock == nil && r.sweepAt <= now && t.expired(r, now)
		if t.variant == BlindSweep {
			still = t.at(r.id) != nil
		}
		if !still {
			continue
		}
		swept++
		t.wrote(r)
		f := runtime.Fence{ID: r.id, Generation: r.Generation, Owner: r.Owner}
		if r.GoneAt <= now || t.variant == BlindSweep {
			delete(t.rows, t.key(r.id))
			t.note(Event{Kind: Deleted, Clock: now, Fence: f})
			continue
		}
		r.Answer = runtime.StoredAnswer{Headers: []byte{}, Body: []byte{}}
		r.sweepAt = r.GoneAt
		t.note(Event{Kind: Dropped, Clock: now, Fence: f})
	}
	return swept
}
