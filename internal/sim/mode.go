package sim

// Mode is how claim, effect and answer are committed.
type Mode string

// The modes of docs/semantics.md.
const (
	Claims Mode = "claims" // no transaction of the handler's
	Twice  Mode = "twice"  // the claim, then effect and answer
	Once   Mode = "once"   // all in one
)

// transactions says whether handlers have one.
func (m Mode) transactions() bool { return m != Claims }

// other is the mode of a server of the release before.
func (m Mode) other() Mode {
	switch m {
	case Twice:
		return Once
	case Once:
		return Twice
	}
	return m
}
