package runtime

import (
	"testing"
	"time"
)

// When a duplicate is told to ask again: what the operation took lately, less
// what has passed; at least a second, and at most what is left of the lease.
func TestRetryAfterOfWhatRuns(t *testing.T) {
	const lease = 30 * time.Second
	for name, c := range map[string]struct {
		took      []time.Duration
		ran, left time.Duration
		want      time.Duration
	}{
		"nothing is known":                 {nil, 0, lease, time.Second},
		"nothing is known, for a while":    {nil, 4 * time.Second, 26 * time.Second, 4 * time.Second},
		"nothing is known, near the end":   {nil, 20 * time.Second, 10 * time.Second, 10 * time.Second},
		"quick":                            {[]time.Duration{100 * time.Millisecond}, 20 * time.Millisecond, lease, time.Second},
		"slow":                             {[]time.Duration{12 * time.Second}, 2 * time.Second, 28 * time.Second, 10 * time.Second},
		"slow, and about to end":           {[]time.Duration{12 * time.Second}, 11900 * time.Millisecond, 18100 * time.Millisecond, time.Second},
		"past the usual time":              {[]time.Duration{100 * time.Millisecond}, 5 * time.Second, 25 * time.Second, 5 * time.Second},
		"longer than the lease":            {[]time.Duration{time.Hour}, 0, lease, lease},
		"less than a second is left":       {[]time.Duration{time.Hour}, 29700 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond},
		"it became slower":                 {[]time.Duration{time.Second, 9 * time.Second}, 0, lease, 3 * time.Second},
		"the clock was set back":           {[]time.Duration{time.Hour}, -10 * time.Minute, 10*time.Minute + lease, lease},
		"set back, and nothing is known":   {nil, -10 * time.Minute, 10*time.Minute + lease, time.Second},
		"it ended before it could be seen": {[]time.Duration{0}, 0, lease, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Guard{policy: DefaultPolicy("POST /orders")}
			for _, took := range c.took {
				g.pace.note(took)
			}
			row := &Row{Now: 1_700_000_000_000}
			row.ClaimedAt, row.LeaseUntil = row.Now-c.ran.Milliseconds(), row.Now+c.left.Milliseconds()
			if got := g.stillRunning(row).RetryAfter; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
