package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// scheduler draws every decision from a seed.
type scheduler struct {
	*rand.Rand
	*world
	steps     int           // of this world
	downUntil time.Duration // the ledger cannot be reached
	standby   bool          // there is one, which may be cut off and take over
	cutUntil  time.Duration // it is cut off
}

// ids are the keys of a world: two of one principal, one of another that is
// called the same.
var ids = []runtime.ID{{Principal: "alice", Key: "k1"}, {Principal: "alice", Key: "k2"}, {Principal: "bob", Key: "k1"}}

// maxLive bounds the requests of a world that have no answer yet.
const maxLive = 6

// newScheduler draws a world. It must be called inside a bubble.
func newScheduler(seed uint64, variant Variant) *scheduler {
	s := &scheduler{Rand: rand.New(rand.NewPCG(seed, 0))}
	s.steps = 150 + s.IntN(300)
	p := runtime.DefaultPolicy("POST /")
	p.Lease = 4 * time.Second
	p.Timeout = 3 * time.Second
	p.ResponseMax = runtime.MinResponse
	p.Retain = p.Lease + time.Duration(1+s.IntN(6))*time.Second
	p.Gone = time.Duration(s.IntN(2)) * 3 * time.Second
	p.Wait = time.Duration(s.IntN(2)) * 1777 * time.Millisecond
	p.Failure = []runtime.Failure{runtime.FailureStore, runtime.FailureRelease, runtime.FailureHold}[s.IntN(3)]
	mode := []Mode{Claims, Claims, Twice, Twice, Once}[s.IntN(5)]
	mixed := mode.transactions() && s.chance(20)
	if mode == Claims && s.IntN(3) == 0 {
		p.Renew, p.Timeout = true, 11*time.Second
	}
	if mode == Once || mixed {
		p.Wait = 0
	}
	if mode.transactions() {
		p.Retry = s.IntN(3)
	}
	s.world = newWorld(variant, p, mode, mixed, 2+s.IntN(2))
	s.conflicts = mode.transactions() && s.chance(50)
	s.unruly = mode.transactions() && s.chance(40)
	s.standby = !s.unruly && s.chance(40)
	return s
}

// chance is true in percent of all cases.
func (s *scheduler) chance(percent int) bool { return s.IntN(100) < percent }

// upTo is a time from now until then.
func (s *scheduler) upTo(d time.Duration) time.Duration {
	return s.now() + time.Duration(s.Int64N(int64(d)))
}

// fresh decides when a new statement may be executed, or how long a handler
// works.
func (s *scheduler) fresh(st *statement) {
	roll := s.IntN(100)
	switch {
	case st.process == nil:
		st.notBefore = s.upTo(3 * time.Second) // a server is slow to notice
	case st.name == handlerAtWork && roll < 4:
		st.notBefore = time.Hour // hangs
	case st.name == handlerAtWork && roll < 55:
		st.notBefore = s.upTo(s.policy.Timeout + s.policy.Lease)
	case st.name != handlerAtWork && roll < 15:
		st.notBefore = s.upTo(3 * time.Second)
	}
}

// one is one step.
func (s *scheduler) one() {
	s.settle(s.fresh)
	if s.table.standby != nil && s.cutUntil <= s.now() {
		if s.chance(50) {
			s.failOver(s.again)
		} else {
			s.reconnect()
		}
	}
	var ready []*statement
	for _, st := range s.pending {
		if s.mayMove(st) {
			ready = append(ready, st)
		}
	}
	switch roll := s.IntN(100); {
	case roll < 7 && s.live < maxLive:
		r := s.request(s.processes[s.IntN(len(s.processes))], ids[s.IntN(len(ids))], s.IntN(8)/7)
		r.impatient = s.chance(50)
	case roll < 9:
		s.disturb()
	case roll < 12:
		time.Sleep(time.Duration(s.Int64N(int64(s.policy.Lease))))
	case roll < 18 || len(ready) == 0:
		time.Sleep(time.Duration(s.Int64N(int64(400 * time.Millisecond))))
	default:
		s.move(ready[s.IntN(len(ready))])
	}
}

// again says whether a statement whose answer a failover has cut off is sent again
// by the ledger's client, and not reported as failed.
func (s *scheduler) again(*statement) bool { return s.chance(50) }

// lockLimit is how long a statement waits for a row's lock.
const lockLimit = time.Second

func (s *scheduler) mayMove(st *statement) bool {
	if s.behind(st) && !st.unheard {
		return false
	}
	if st.notBefore > s.now() || st.process != nil && st.process.notBefore > s.now() {
		return false
	}
	return !s.blocked(st) || !st.unheard && s.now()-st.arrived >= lockLimit
}

// move lets a statement go on.
func (s *scheduler) move(st *statement) {
	switch {
	case st.name == handlerAtWork:
		s.decide(st.request)
		s.deliver(st)
	case s.blocked(st):
		s.fail(st, runtime.ErrRowLocked)
	case st.executed:
		s.deliver(st)
	case st.unheard:
		if st.process != nil && s.chance(20) {
			st.executed = true // lost on its way
			return
		}
		s.execute(st)
	case s.chance(4) || st.tx != nil && s.chance(8) || st.commits && s.chance(15) || s.downUntil > s.now():
		s.fault(st)
	default:
		if st.commits && s.conflicts && s.chance(15) {
			st.tx.doomed = true
		}
		s.execute(st)
		if s.behind(st) {
			return
		}
		if s.chance(70) {
			s.deliver(st)
		} else if s.chance(40) {
			st.notBefore = s.upTo(3 * time.Second)
		}
	}
}

// decide says how a request's handler ends.
func (s *scheduler) decide(r *request) {
	r.outcome, r.then = outcomes[s.IntN(len(outcomes))], ""
	switch {
	case s.conflicts && s.chance(25):
		r.outcome = []outcome{conflicting, conflicting, conflicting, heldConflict, passingOver, foreign}[s.IntN(6)]
	case s.unruly && s.chance(40):
		r.outcome = []outcome{commitCalled, commitSent, rollbackCalled, rollbackSent}[s.IntN(4)]
		r.then = []outcome{created, failing, conflicting}[s.IntN(3)]
	}
}

// fault lets a statement fail, with or without effect, now or later.
func (s *scheduler) fault(st *statement) {
	err := []error{runtime.ErrUnavailable, context.DeadlineExceeded, runtime.ErrRowLocked}[s.IntN(3)]
	if st.needs == nil && err == runtime.ErrRowLocked {
		err = runtime.ErrUnavailable
	}
	switch s.IntN(4) {
	case 0: // not executed
		st.executed = true
		s.fail(st, err)
	case 1: // executed, but nobody is told
		s.execute(st)
		s.fail(st, err)
	case 2: // executed later, when nobody waits any more
		st.notBefore = s.upTo(s.policy.Lease)
		s.fail(st, err)
	case 3: // executed, and repeated by who did not hear the answer
		if st.tx != nil || st.opens {
			return
		}
		s.execute(st)
		st.executed, st.err = false, nil
		s.note(Event{Kind: Repeated, Request: st.request.number(), Text: st.name})
	}
}

// disturb does something to the world.
func (s *scheduler) disturb() {
	p := s.processes[s.IntN(len(s.processes))]
	if s.standby && s.table.standby == nil && s.chance(40) {
		s.cutOff()
		s.cutUntil = s.upTo(8 * time.Second)
		return
	}
	switch s.IntN(6) {
	case 0:
		s.jump(time.Duration(s.Int64N(int64(10 * time.Second))))
	case 1:
		s.jump(-time.Duration(s.Int64N(int64(5 * time.Second))))
	case 2:
		s.kill(p)
		s.boot()
	case 3:
		p.notBefore = s.upTo(2 * s.policy.Lease)
	case 4:
		s.downUntil = s.upTo(6 * time.Second)
	case 5:
		if len(s.requests) > 0 {
			s.requests[s.IntN(len(s.requests))].hangUp()
		}
	}
}
