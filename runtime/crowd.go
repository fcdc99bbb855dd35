package runtime

const (
	// maxOfCaller bounds the duplicates of one caller that wait in a process,
	// whatever others do: further ones are refused at once as what they are,
	// duplicates of requests that run.
	maxOfCaller = 10_000
	// maxOfKey bounds those of one key that queue for its transaction, each
	// with its body.
	maxOfKey = 1_000
)

// crowd counts who waits, by caller. It is guarded by the lock of its owner.
type crowd map[string]int

// join counts one more of a caller's, unless they are too many.
func (c *crowd) join(principal string) bool {
	if (*c)[principal] >= maxOfCaller {
		return false
	}
	if *c == nil {
		*c = crowd{}
	}
	(*c)[principal]++
	return true
}

// leave undoes a join.
func (c crowd) leave(principal string) {
	if c[principal]--; c[principal] == 0 {
		delete(c, principal)
	}
}
