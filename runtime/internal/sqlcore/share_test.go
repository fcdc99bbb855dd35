package sqlcore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

const commitTime = 10 * time.Millisecond

// disk is a database whose commits take commitTime each. It keeps what was
// committed, batch by batch.
type disk struct {
	mu      sync.Mutex
	batches [][]string
	refuse  string // a key whose write fails
	failing error  // of every commit of several
}

// db is what a write runs on: what it wrote is pending until the commit.
type db struct{ pending []string }

func (d *disk) write(key string) func(context.Context, *db) error {
	return func(_ context.Context, on *db) error {
		if key == d.refuse {
			return errors.New("refused")
		}
		on.pending = append(on.pending, key)
		return nil
	}
}

func (d *disk) commit(on *db) {
	time.Sleep(commitTime)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = append(d.batches, on.pending)
}

func (d *disk) sharing(writers int) *Sharing[*db] {
	return &Sharing[*db]{Writers: writers, Commit: func(ctx context.Context, batch []*Write[*db]) error {
		on := &db{}
		for _, w := range batch {
			if err := w.Run(ctx, on); err != nil {
				return err
			}
		}
		if d.failing != nil {
			time.Sleep(commitTime)
			return d.failing
		}
		if ctx.Err() == nil {
			d.commit(on)
		}
		return ctx.Err()
	}}
}

// do makes the write of a key through a sharing.
func (d *disk) do(ctx context.Context, s *Sharing[*db], key string) error {
	return s.do(ctx, &Write[*db]{id: runtime.ID{Principal: "alice", Key: key}, run: d.write(key)}, func(ctx context.Context, _ bool) error {
		on := &db{}
		if err := d.write(key)(ctx, on); err != nil {
			return err
		}
		d.commit(on)
		return nil
	})
}

// at starts writes one after another, each once all others wait.
func (d *disk) at(t *testing.T, s *Sharing[*db], wg *sync.WaitGroup, keys ...string) {
	for _, key := range keys {
		wg.Go(func() {
			if err := d.do(t.Context(), s, key); err != nil && key != d.refuse {
				t.Errorf("%s: %v", key, err)
			}
			if !slices.Contains(d.committed(), key) && key != d.refuse {
				t.Errorf("%s was told that it is written, and it is not committed", key)
			}
		})
		synctest.Wait()
	}
}

func (d *disk) committed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.batches...)
}

func (d *disk) want(t *testing.T, batches string) {
	t.Helper()
	if got := fmt.Sprint(d.batches); got != batches {
		t.Errorf("committed %s, want %s", got, batches)
	}
}

// A write alone commits at once; what comes meanwhile is the next batch, in the
// order of its keys.
func TestSharingFormsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		s := d.sharing(1)
		var wg sync.WaitGroup
		d.at(t, s, &wg, "a", "d", "c", "b")
		time.Sleep(commitTime * 3 / 2)
		d.at(t, s, &wg, "f", "e")
		wg.Wait()
		d.want(t, "[[a] [b c d] [e f]]")
		start := time.Now()
		if err := d.do(t.Context(), s, "g"); err != nil || time.Since(start) != commitTime {
			t.Errorf("alone: %v after %v", err, time.Since(start))
		}
		if s.running != 0 || len(s.queue) != 0 {
			t.Errorf("%d writers run and %d writes wait when all is done", s.running, len(s.queue))
		}
	})
}

func TestSharingWithTwoWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		s := d.sharing(2)
		var wg sync.WaitGroup
		start := time.Now()
		d.at(t, s, &wg, "a", "b", "c", "d", "e")
		wg.Wait()
		if took := time.Since(start); took != 2*commitTime || len(d.batches) != 3 {
			t.Errorf("%v took %v", d.batches, took)
		}
	})
}

// A batch that fails is repeated write by write: only the one that cannot be
// written fails.
func TestSharingRepeatsWhatFailed(t *testing.T) {
	for name, d := range map[string]*disk{"a write": {refuse: "c"}, "the commit": {failing: errors.New("disk")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := d.sharing(1)
				var wg sync.WaitGroup
				d.at(t, s, &wg, "a", "b", "c", "d")
				wg.Wait()
				committed := d.committed()
				slices.Sort(committed)
				want := []string{"a", "b", "c", "d"}
				if d.refuse != "" {
					want = []string{"a", "b", "d"}
				}
				if !slices.Equal(committed, want) {
					t.Errorf("committed %v, want %v", committed, want)
				}
			})
		})
	}
}

// A caller whose context ends leaves, wherever its write is, and the others of
// its batch do not notice. One that leads the batch sees it through.
func TestSharingWithCallersThatLeave(t *testing.T) {
	for _, when := range []time.Duration{commitTime / 2, commitTime * 3 / 2} {
		for _, who := range []string{"b", "c"} {
			t.Run(fmt.Sprint(who, " after ", when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &disk{}
					s := d.sharing(1)
					var wg sync.WaitGroup
					d.at(t, s, &wg, "a")
					errs := map[string]error{}
					var mu sync.Mutex
					for _, key := range []string{"b", "c", "d"} {
						ctx, cancel := context.WithCancel(t.Context())
						if key == who {
							time.AfterFunc(when, cancel)
						} else {
							defer cancel()
						}
						wg.Go(func() {
							err := d.do(ctx, s, key)
							mu.Lock()
							defer mu.Unlock()
							errs[key] = err
						})
						synctest.Wait()
					}
					wg.Wait()
					for key, err := range errs {
						left := key == who && (when < commitTime || key != "b")
						if left != errors.Is(err, context.Canceled) {
							t.Errorf("%s: %v", key, err)
						}
						if err == nil && !slices.Contains(d.committed(), key) {
							t.Errorf("%s is not committed", key)
						}
					}
					if when > commitTime {
						d.want(t, "[[a] [b c d]]")
					}
					if withdrawn := when < commitTime; withdrawn == slices.Contains(d.committed(), who) {
						t.Errorf("committed %v", d.committed())
					}
				})
			})
		}
	}
}

// A caller may find that its context has ended at the moment when its write is
// made the leader of a batch: it must not leave then, for the others wait for
// it.
func TestLeaveOfEveryState(t *testing.T) {
	s := (&disk{}).sharing(1)
	s.running = 1
	for range 3 {
		s.queue = append(s.queue, &Write[*db]{wake: make(chan []*Write[*db], 1)})
	}
	waiting := &Write[*db]{wake: make(chan []*Write[*db], 1)}
	leader, follower := s.queue[0], s.queue[1]
	s.next()
	s.queue = append(s.queue, waiting)
	if s.leave(leader) {
		t.Error("the leader of a batch left it")
	}
	if !s.leave(follower) || !s.leave(waiting) {
		t.Error("a write that nobody waits for could not be left")
	}
	if len(s.queue) != 0 {
		t.Errorf("%d writes wait; want the one that was left gone", len(s.queue))
	}
}

// A write that waits for somebody's lock keeps no place: others go on.
func TestSharingPastAWriteThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		s := d.sharing(1)
		var wg sync.WaitGroup
		unlocked := make(chan struct{})
		wg.Go(func() {
			err := s.do(t.Context(), &Write[*db]{}, func(context.Context, bool) error { <-unlocked; return nil })
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		d.at(t, s, &wg, "a", "b")
		time.Sleep(patience + 2*commitTime)
		synctest.Wait()
		d.want(t, "[[a b]]")
		d.at(t, s, &wg, "c")
		close(unlocked)
		wg.Wait()
		if took := time.Since(start); took != patience+3*commitTime {
			t.Errorf("took %v", took)
		}
		if s.running != 0 || len(s.queue) != 0 {
			t.Errorf("%d writers run and %d writes wait when all is done", s.running, len(s.queue))
		}
	})
}
