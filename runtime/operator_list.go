package runtime

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Filter says which rows [Operator.List] returns, and how many it reads. The zero
// value is the first rows of the ledger.
type Filter struct {
	Principal string // "": of all; the ledger reads this one's rows alone
	Operation string // "": of all
	State     State  // "": all
	HalfDone  bool   // only those that are half done
	// KeyHash is the hash under which logs and events name a key, see
	// [WithKeyHashSecret]; "" is all. Several principals may have the same key.
	KeyHash string
	// Secret is what KeyHash was made with; nil takes the operator's.
	Secret []byte

	After ID  // begin behind this key: Next of the list before
	Limit int // the most rows to return; 0: 100
	Reads int // the most rows to read; 0: 100,000
}

// List are the rows that [Operator.List] found, in the order of their keys.
type List struct {
	Keys []KeyReport
	Read int // rows that were read
	// More says that the list ended at Limit or Reads. There may be more behind
	// Next.
	More bool
	Next ID
}

const (
	defaultListLimit = 100
	defaultListReads = 100_000
)

// List goes through the ledger's rows in the order of their keys, page by page,
// and returns those that the filter lets pass. Only the principal is searched for;
// everything else is compared with each row that is read, which is why Reads bounds
// them. Rows that come and go meanwhile may be in the list or not. It fails where
// the ledger is no [ListLedger].
func (o *Operator) List(ctx context.Context, f Filter) (List, error) {
	ledger, ok := o.ledger.(ListLedger)
	if !ok {
		return List{}, fmt.Errorf("idemgen: the ledger (%T) cannot list its rows", o.ledger)
	}
	if f.Secret == nil {
		f.Secret = o.settings.secret
	}
	hash, err := f.hash()
	if err != nil {
		return List{}, err
	}
	if f.State != "" && !slices.Contains(states, f.State) {
		return List{}, fmt.Errorf("idemgen: %q is no state of a row: it is one of %v", f.State, states)
	}
	if f.Limit < 0 || f.Reads < 0 {
		return List{}, fmt.Errorf("idemgen: a list of at most %d rows of %d read: neither can be negative", f.Limit, f.Reads)
	}
	if f.Limit == 0 {
		f.Limit = defaultListLimit
	}
	if f.Reads == 0 {
		f.Reads = defaultListReads
	}
	found := List{Next: f.After}
	if found.Next.Principal < f.Principal {
		found.Next = ID{Principal: f.Principal} // before each of its keys: a key has a byte
	}
	for {
		page := min(operatorBatch, f.Reads-found.Read)
		rows, err := ledger.List(ctx, found.Next, page)
		if err != nil {
			return found, err
		}
		for i := range rows {
			row := &rows[i]
			if f.Principal != "" && row.ID.Principal != f.Principal {
				return found, nil
			}
			found.Read++
			found.Next = row.ID
			if f.passes(row, hash) {
				found.Keys = append(found.Keys, row.report())
			}
			if found.More = len(found.Keys) == f.Limit || found.Read == f.Reads; found.More {
				return found, nil
			}
		}
		if len(rows) < page {
			return found, nil
		}
	}
}

// states are all states.
var states = []State{StatePending, StateStale, StateCompleted, StateExpired}

// hash is the hash that the filter names, as bytes.
func (f *Filter) hash() ([]byte, error) {
	if f.KeyHash == "" {
		return nil, nil
	}
	hash, err := hex.DecodeString(f.KeyHash)
	if err != nil || len(hash) != 32 {
		return nil, errors.New("idemgen: a key's hash is 64 hexadecimal digits, as logs and events have it")
	}
	if len(f.Secret) < minSecret {
		return nil, fmt.Errorf("idemgen: a key's hash is looked up with the secret that it was made with, which has at least %d bytes", minSecret)
	}
	return hash, nil
}

// passes reports whether a row is one of those that are wanted.
func (f *Filter) passes(l *Listed, hash []byte) bool {
	switch {
	case f.Operation != "" && l.Row.Operation != f.Operation,
		f.State != "" && l.Row.State() != f.State,
		f.HalfDone && l.RecoveryPoint == "":
		return false
	}
	return hash == nil || hmac.Equal(hash, keyMAC(f.Secret, l.ID))
}

func (l *Listed) report() KeyReport {
	report := l.Row.report(l.ID)
	report.AnswerBytes, report.RecoveryPoint = l.AnswerBytes, l.RecoveryPoint
	return report
}
