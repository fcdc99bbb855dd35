package sim

import "github.com/idemgen/idemgen/runtime"

// cutOff keeps the accounts as the standby has them.
func (c *checker) cutOff() {
	c.saved, c.cutAt = map[runtime.ID]account{}, c.at
	for id, a := range c.rows {
		c.saved[id] = *a
		if a.owner != nil {
			a.owner.saved = a.owner.leasing
		}
	}
}

// failedOver checks that nobody relies on what no standby had: no run was begun
// under a claim of it, and nobody was given an answer of it. Then the accounts are
// the standby's.
func (c *checker) failedOver() {
	for n := 1; c.requests[n] != nil; n++ {
		r := c.requests[n]
		if r.run != nil && r.run.opened == nil && r.run.wonAt > c.cutAt {
			c.broken(Durable, "request %d ran under a claim that is lost", r.n)
		}
		if r.effect && r.effectAt > c.cutAt {
			r.effect = false
		}
		// Its claim is back, and stays until the lease is over.
		r.revived = r.revived || r.releasedAt > c.cutAt
		for _, n := range r.claims {
			n.stood = n.stood && n.stoodAt <= c.cutAt
		}
	}
	for _, done := range c.completions {
		if done.until > c.cutAt {
			done.until = -1 // what ended it is lost
		}
		if done.at <= c.cutAt {
			continue
		}
		done.lost, done.until = true, c.at
		for n := 1; c.requests[n] != nil; n++ {
			r := c.requests[n]
			if r.reply == nil || r.id != done.id || r.repliedAt < done.at || r.reply.Err != nil || !equal(r.reply.Answer, done.answer) {
				continue
			}
			// An answer that could not be stored for too long goes out all the same,
			// unless its effect stands and falls with it.
			if r.reply.Replayed || !r.completeFailed {
				c.broken(Durable, "request %d was given an answer that is lost", r.n)
			}
		}
	}
	for id, a := range c.rows {
		met := a.claims // by others, whatever became of them
		saved := c.saved[id]
		if saved.exists && saved.pending && saved.owner != a.owner {
			// It was told that its claim was lost, to one that is lost itself.
			saved.owner.request.revived = true
		}
		*a = saved
		a.claims = met
		if a.owner != nil {
			a.owner.leasing = a.owner.saved // renewals since then are lost
		}
	}
}
