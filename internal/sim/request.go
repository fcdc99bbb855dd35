package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

// request is one request of a client, and its handler when it runs.
type request struct {
	n       int // from 1
	world   *world
	process *process
	id      runtime.ID
	body    int
	ctx     context.Context
	hangUp  context.CancelFunc

	// Guarded by the world's lock.
	ended   bool
	running bool            // its handler runs
	run     context.Context // of its handler

	// What the scheduler decides of its handler.
	impatient bool    // stops when its context ends
	outcome   outcome // set when it may end
	then      outcome // what it returns after it ended its transaction
}

type requestKey struct{}

func (r *request) number() int {
	if r == nil {
		return 0
	}
	return r.n
}

// outcome is how a handler ends.
type outcome string

const (
	created   outcome = "201"
	notFound  outcome = "404"
	failing   outcome = "500"
	tooLarge  outcome = "too large"
	tooHeavy  outcome = "refused by the ledger"
	releasing outcome = "released by mark"
	holding   outcome = "held by mark"
	asking    outcome = "503, release asked for"
	panicking outcome = "panic"
	aborting  outcome = "abort"
	exiting   outcome = "goexit"

	// In transactions only.
	conflicting    outcome = "conflict"
	heldConflict   outcome = "conflict, held by mark"
	passingOver    outcome = "201 after a conflict"
	foreign        outcome = "conflict of another database"
	commitCalled   outcome = "commit called"
	commitSent     outcome = "COMMIT sent"
	rollbackCalled outcome = "rollback called"
	rollbackSent   outcome = "ROLLBACK sent"
)

// outcomes are drawn by weight.
var outcomes = []outcome{
	created, created, created, created, created, created, created, created, created, created, created, created,
	notFound, notFound, failing, failing, failing, failing, tooLarge, tooHeavy, releasing, holding, asking, panicking, aborting, exiting,
}

var errFailed = errors.New("the handler failed")

// serve sends the request to its process and tells what it is answered.
func (r *request) serve() {
	w, answered := r.world, false
	defer w.running.Done()
	defer func() {
		switch p := recover(); {
		case p != nil && p != http.ErrAbortHandler:
			r.answered(Event{Kind: Answered, Err: fmt.Errorf("panic: %v", p)})
		case !answered:
			r.answered(Event{Kind: Cut})
		}
	}()
	result, err := r.do(context.WithValue(r.ctx, requestKey{}, r))
	answered = true
	var own *runtime.Error
	if w.variant == RawErrors && errors.As(err, &own) && own.Cause != nil {
		err = own.Cause
	}
	e := Event{Kind: Answered, Answer: stored(result.Answer), Replayed: result.Replayed, Err: err}
	if errors.As(errors.Join(err, result.Err), &own) {
		e.Code = own.Code
	}
	r.answered(e)
}

func (r *request) do(ctx context.Context) (runtime.Result, error) {
	call := runtime.Call{Principal: r.id.Principal, Key: r.id.Key, Fingerprint: r.fingerprint}
	if r.world.mode.transactions() {
		return runtime.DoTx(ctx, r.process.guard, r.process.conn, call, r.work)
	}
	return r.process.guard.Do(ctx, call, func(ctx context.Context) (runtime.Answer, error) { return r.work(ctx, nil) })
}

// answered ends the request, unless its process has died in the meantime: then
// its client hears nothing.
func (r *request) answered(e Event) {
	e.Request = r.n
	if r.end() {
		r.world.note(e)
	}
}

// end reports whether the request had not ended before.
func (r *request) end() bool {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	if r.ended {
		return false
	}
	r.ended = true
	r.world.live--
	return true
}

func (r *request) fingerprint(rule runtime.Rule) [32]byte {
	body := r.body
	if r.world.variant == BlindFingerprint {
		body = 0
	}
	parts := runtime.FingerprintParts{Method: "POST", URI: "/", Body: []byte{byte(body)}}
	return rule.Fingerprint(parts)
}

// runs says whether the request's handler runs, and under which context.
func (r *request) runs(ctx context.Context, runs bool) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.running, r.run = runs, ctx
}

const handlerAtWork = "handler at work"

// work is the handler: it takes as long and ends as the scheduler says.
func (r *request) work(ctx context.Context, tx *transaction) (runtime.Answer, error) {
	w := r.world
	if w.variant == DeadlineFromAnswer {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), w.policy.Timeout)
		defer cancel()
	}
	deadline, _ := ctx.Deadline()
	w.note(Event{Kind: RunBegan, Request: r.n, Deadline: deadline.Sub(w.start), Fencing: runtime.FencingNumber(ctx),
		Fence: runtime.Fence{ID: runtime.ID{Principal: runtime.Principal(ctx), Key: runtime.Key(ctx)}, Generation: runtime.Generation(ctx)},
		Open:  w.openOf(r, tx)})
	r.runs(ctx, true)
	defer r.runs(ctx, false)
	if tx != nil {
		tx.effect = true
	}
	r.outcome = ""
	patience := context.Background()
	if r.impatient {
		patience = ctx
	}
	if err := w.send(patience, &statement{name: handlerAtWork, process: r.process, request: r}); err != nil {
		r.outcome = failing
	}
	answer := runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: fmt.Sprint("/", r.n)}}, Body: fmt.Append(nil, "answer of request ", r.n)}
	w.note(Event{Kind: RunEnded, Request: r.n, Outcome: r.outcome, Answer: stored(answer)})
	switch r.outcome {
	case notFound:
		answer.Status = 404
	case tooLarge:
		answer.Body = make([]byte, w.policy.ResponseMax)
	case tooHeavy:
		answer.Body = fmt.Append(nil, heavy, r.n)
	case failing:
		answer.Status = 500
		return answer, errFailed
	case releasing:
		answer.Status = 500
		return answer, runtime.Release(errFailed)
	case holding:
		answer.Status = 500
		return answer, runtime.Hold(errFailed)
	case asking:
		runtime.ReleaseClaim(ctx)
		answer.Status = 503
	case panicking:
		panic("the handler panicked")
	case aborting:
		panic(http.ErrAbortHandler)
	case exiting:
		goruntime.Goexit()
	case conflicting, heldConflict, passingOver:
		tx.failed = true
		w.note(Event{Kind: Conflict, Request: r.n, Text: "at a statement"})
		switch r.outcome {
		case conflicting:
			return runtime.Answer{}, errConflict
		case heldConflict:
			return runtime.Answer{}, runtime.Hold(errConflict)
		}
	case foreign:
		return runtime.Answer{}, errConflict
	case commitCalled, commitSent, rollbackCalled, rollbackSent:
		r.endByHand(tx)
		switch r.then {
		case failing:
			return runtime.Answer{}, errFailed
		case conflicting:
			return runtime.Answer{}, errConflict
		}
	}
	return answer, nil
}

// heavy begins answers that the ledger refuses for good.
const heavy = "heavy answer of request "

func refused(a runtime.StoredAnswer) bool { return strings.HasPrefix(string(a.Body), heavy) }

func stored(a runtime.Answer) runtime.StoredAnswer {
	return runtime.StoredAnswer{Status: a.Status, Headers: a.Header.Encode(), Body: a.Body}
}
