package runtime

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// OperatorLedger is a ledger that an operator can count and erase in.
type OperatorLedger interface {
	Ledger

	// Counts returns the number of rows by operation and state, in order of
	// operation, then state. It reads the whole table.
	Counts(ctx context.Context) ([]Count, error)

	// Erase deletes at most limit rows of a principal and returns how many.
	// Rows whose lease is alive stay: their work is running. So do rows that
	// are half done.
	Erase(ctx context.Context, principal string, limit int) (int, error)
}

// Count is a number of rows.
type Count struct {
	Operation string
	State     State
	Rows      int64
}

// State is what a row is, by the ledger's clock.
type State string

const (
	StatePending   State = "pending"   // claimed, its lease is alive
	StateStale     State = "stale"     // claimed, its lease is over: the next request takes it over
	StateCompleted State = "completed" // its answer is replayed
	StateExpired   State = "expired"   // its promise has ended
)

// State says what the row was when it was read.
func (r *Row) State() State {
	switch {
	case r.Expired():
		return StateExpired
	case r.Completed:
		return StateCompleted
	case r.LeaseUntil <= r.Now:
		return StateStale
	}
	return StatePending
}

// Operator is the operator's side of a ledger: looking into it, and mending
// what cannot mend itself. Every act that changes something is logged. It is
// safe for concurrent use.
type Operator struct {
	ledger   OperatorLedger
	settings settings
}

// NewOperator returns an operator's side. Of the options, those for logging,
// key hashes and sealing count.
func NewOperator(ledger OperatorLedger, opts ...Option) (*Operator, error) {
	if isNil(ledger) {
		return nil, errors.New("idemgen: NewOperator: nil ledger")
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	return &Operator{ledger, s}, nil
}

// KeyReport is what a row tells of its key, without the answer.
type KeyReport struct {
	Fence       Fence // for Release and Complete
	State       State
	Operation   string
	Policy      string        // the fingerprint's rule
	OwnerAge    time.Duration // since the current claim
	LeaseLeft   time.Duration // negative: over for as long
	ExpiresIn   time.Duration
	Status      int   // of a completed row's answer
	AnswerBytes int64 // headers and body as stored
	// RecoveryPoint is not empty where the row is half done. Only a list tells it.
	RecoveryPoint string
}

// Report looks up one key; found is false when no row holds it.
func (o *Operator) Report(ctx context.Context, id ID) (report KeyReport, found bool, err error) {
	row, found, err := o.ledger.Read(ctx, id)
	if err != nil || !found {
		return KeyReport{}, false, err
	}
	return row.report(id), true, nil
}

// report is what a row tells of its key.
func (r *Row) report(id ID) KeyReport {
	ms := func(at int64) time.Duration { return time.Duration(at) * time.Millisecond }
	return KeyReport{
		Fence:       Fence{ID: id, Generation: r.Generation, Owner: r.Owner},
		State:       r.State(),
		Operation:   r.Operation,
		Policy:      r.Policy,
		OwnerAge:    ms(r.Now - r.ClaimedAt),
		LeaseLeft:   ms(r.LeaseUntil - r.Now),
		ExpiresIn:   ms(r.ExpiresAt - r.Now),
		Status:      r.Answer.Status,
		AnswerBytes: int64(len(r.Answer.Headers) + len(r.Answer.Body)),
	}
}

// Answer returns the stored answer of a completed key. It may hold what
// belongs to the caller alone; asking for it is logged.
func (o *Operator) Answer(ctx context.Context, id ID) (answer Answer, found bool, err error) {
	row, found, err := o.ledger.Read(ctx, id)
	if err != nil || !found || !row.Completed {
		return Answer{}, false, err
	}
	answer, err = o.settings.recall(ctx, id, &row, nil)
	o.log(ctx, id, "operator read an answer", err, slog.Int64("generation", row.Generation))
	return answer, err == nil, err
}

// Release deletes a pending claim while its fence holds, so that the next
// request runs. It is for a claim whose work is known not to have happened, and
// never deletes a half-done one.
func (o *Operator) Release(ctx context.Context, f Fence) (bool, error) {
	ok, err := o.ledger.Release(ctx, f)
	o.log(ctx, f.ID, "operator released a claim", err, slog.Bool("held", ok), slog.Int64("generation", f.Generation))
	return ok, err
}

// Complete stores an answer for a pending claim while its fence holds, so that
// the work never runs again under its key. It is for a claim whose work is
// known to have happened. The answer is kept, and the key remembered, for as
// long as the claim promised, which its row tells; Retain and Gone of terms can
// make that longer, and never shorter. An answer that no replay could send is
// an error.
func (o *Operator) Complete(ctx context.Context, f Fence, answer Answer, terms Terms) (bool, error) {
	ok, err := o.complete(ctx, f, answer, terms)
	o.log(ctx, f.ID, "operator completed a claim", err, slog.Bool("held", ok), slog.Int64("generation", f.Generation), slog.Int("status", answer.Status))
	return ok, err
}

func (o *Operator) complete(ctx context.Context, f Fence, answer Answer, terms Terms) (bool, error) {
	answer, err := answer.checked()
	if err != nil {
		return false, err
	}
	row, found, err := o.ledger.Read(ctx, f.ID)
	if err != nil || !found {
		return false, err
	}
	promised := row.promised()
	terms.Retain, terms.Gone = max(terms.Retain, promised.Retain), max(terms.Gone, promised.Gone)
	body := answer.Body
	if body == nil {
		body = []byte{}
	}
	stored, err := new(sealing).seal(ctx, &o.settings, f, StoredAnswer{Status: answer.Status, Headers: answer.Header.Encode(), Body: body})
	if err != nil {
		return false, err
	}
	return o.ledger.Complete(ctx, Completion{Fence: f, Terms: terms, Answer: stored})
}

// promised are the terms of a pending row's claim. A lease that was ended early
// makes the retention longer by what was left of it.
func (r *Row) promised() Terms {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Terms{Retain: ms(r.ExpiresAt - r.LeaseUntil), Gone: ms(r.GoneAt - r.ExpiresAt)}
}

// Counts returns the number of rows by operation and state.
func (o *Operator) Counts(ctx context.Context) ([]Count, error) { return o.ledger.Counts(ctx) }

// operatorBatch is how many rows one statement of an operator changes.
const operatorBatch = 500

// Erase deletes all rows of a principal but those whose work is running, and
// returns how many.
func (o *Operator) Erase(ctx context.Context, principal string) (int, error) {
	n, err := repeat(func() (int, error) { return o.ledger.Erase(ctx, principal, operatorBatch) })
	o.log(ctx, ID{}, "operator erased a principal", err, slog.String("principal", principal), slog.Int("rows", n))
	return n, err
}

// Sweep clears all rows that are due, and returns how many.
func (o *Operator) Sweep(ctx context.Context) (int, error) {
	n, err := repeat(func() (int, error) { return o.ledger.Sweep(ctx, operatorBatch) })
	o.log(ctx, ID{}, "operator swept", err, slog.Int("rows", n))
	return n, err
}

// repeat adds up batches until one is not full.
func repeat(batch func() (int, error)) (int, error) {
	for total := 0; ; {
		n, err := batch()
		total += n
		if err != nil || n < operatorBatch {
			return total, err
		}
	}
}

func (o *Operator) log(ctx context.Context, id ID, message string, err error, attrs ...slog.Attr) {
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", err))
	}
	if id.Key != "" {
		attrs = append(attrs, slog.String("principal", id.Principal), slog.String("scope", id.Scope))
		if hash := keyHash(o.settings.secret, id); hash != "" {
			attrs = append(attrs, slog.String("key_hash", hash))
		}
	}
	o.settings.say(ctx, level, message, attrs...)
}
