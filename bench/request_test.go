package bench_test

import (
	"fmt"
	"testing"
)

// small is the size of a body where sizes are not what is compared.
const small = 1 << 10

// sizes of bodies that are compared with small ones.
var sizes = []struct {
	bytes int
	name  string
}{{0, "0"}, {64 << 10, "64KiB"}, {1 << 20, "1MiB"}}

// atSizes is how many requests are in flight where sizes or places are compared.
const atSizes = 32

// What is compared runs one after the other: the bare handler or the bare
// statements, then the protected handler.

// BenchmarkFresh: every request has a key of its own.
func BenchmarkFresh(b *testing.B) {
	everyFlight(b, func(b *testing.B, f family, inFlight int) {
		f.alone(b, "pair", inFlight, func(s store) func(string) error {
			return func(key string) error {
				if err := s.claim(key); err != nil {
					return err
				}
				return s.complete(key)
			}
		}, func(b *testing.B) []string { return newKeys(b.N, seedFresh) })
		protected(b, f.name, f.shared, fresh, inFlight)
		if f.apart != nil {
			protected(b, f.name+"-apart", f.apart, fresh, inFlight)
		}
	})
	everySize(b, fresh)
	everyServer(b, fresh, true)
	fiberFresh(b)
}

// BenchmarkReplay: every request is a retry; its key was met lately.
func BenchmarkReplay(b *testing.B) {
	everyFlight(b, func(b *testing.B, f family, inFlight int) {
		f.alone(b, "read", inFlight, func(s store) func(string) error { return s.read },
			func(*testing.B) []string { return newKeys(knownKeys, seedKnown) })
		protected(b, f.name, f.shared, replay, inFlight)
	})
	everySize(b, replay)
	everyServer(b, replay, false)
	fiberReplay(b)
}

// BenchmarkCold: every request is a retry, and another server met its key.
func BenchmarkCold(b *testing.B) {
	everyFlight(b, func(b *testing.B, f family, inFlight int) { protected(b, f.name, f.shared, cold, inFlight) })
}

// BenchmarkInProgress: every request is the retry of one that is at work.
func BenchmarkInProgress(b *testing.B) {
	everyFlight(b, func(b *testing.B, f family, inFlight int) { protected(b, f.name, f.shared, inProgress, inFlight) })
	everyServer(b, inProgress, false)
}

// BenchmarkMismatch: every request has a known key and another body.
func BenchmarkMismatch(b *testing.B) {
	everyFlight(b, func(b *testing.B, f family, inFlight int) { protected(b, f.name, f.shared, mismatch, inFlight) })
	everyServer(b, mismatch, false)
}

// BenchmarkBare: the handler without a ledger.
func BenchmarkBare(b *testing.B) {
	for _, inFlight := range flights {
		b.Run(name("inprocess", "handler", inFlight, "1KiB"), func(b *testing.B) {
			drive(b, inFlight, inProcess(always(bare), known(small)), nil)
		})
	}
	for _, size := range sizes {
		b.Run(name("inprocess", "handler", atSizes, size.name), func(b *testing.B) {
			drive(b, atSizes, inProcess(always(bare), known(size.bytes)), nil)
		})
	}
	b.Run(name("http", "handler", atSizes, "1KiB"), func(b *testing.B) {
		drive(b, atSizes, overHTTP(b, serve(b, bare), known(small)), nil)
	})
	fiberBare(b)
}

func name(place, contender string, inFlight int, size string) string {
	return fmt.Sprintf("%s/%s/inflight=%d/body=%s", place, contender, inFlight, size)
}

func everyFlight(b *testing.B, run func(b *testing.B, f family, inFlight int)) {
	for _, f := range families {
		for _, inFlight := range f.flights {
			run(b, f, inFlight)
		}
	}
}

func everySize(b *testing.B, prepare scenario) {
	for _, f := range families {
		for _, size := range sizes {
			b.Run(name("inprocess", f.name, atSizes, size.name), func(b *testing.B) {
				s := f.shared(b)
				at, x := prepare(b, s.ledger, size.bytes)
				drive(b, atSizes, inProcess(at, x), s.count)
			})
		}
	}
}

// everyServer sends the requests over HTTP.
func everyServer(b *testing.B, prepare scenario, apart bool) {
	run := func(contender string, open func(*testing.B) store) {
		b.Run(name("http", contender, atSizes, "1KiB"), func(b *testing.B) {
			s := open(b)
			at, x := prepare(b, s.ledger, small)
			drive(b, atSizes, overHTTP(b, serve(b, at(0)), x), s.count)
		})
	}
	for _, f := range families {
		run(f.name, f.shared)
		if apart && f.apart != nil {
			run(f.name+"-apart", f.apart)
		}
	}
}

// protected measures the protected handler in process.
func protected(b *testing.B, contender string, open func(*testing.B) store, prepare scenario, inFlight int) {
	b.Run(name("inprocess", contender, inFlight, "1KiB"), func(b *testing.B) {
		s := open(b)
		at, x := prepare(b, s.ledger, small)
		drive(b, inFlight, inProcess(at, x), s.count)
	})
}

// alone measures bare statements of a database, on rows of known keys or on
// new ones.
func (f family) alone(b *testing.B, what string, inFlight int, statement func(store) func(key string) error, keys func(*testing.B) []string) {
	if !f.bare {
		return
	}
	b.Run(fmt.Sprintf("inprocess/%s-%s/inflight=%d", f.name, what, inFlight), func(b *testing.B) {
		s := f.shared(b)
		known, keys, do := newKeys(knownKeys, seedKnown), keys(b), statement(s)
		for _, warm := range []func(string) error{s.claim, s.complete, s.read} {
			send(b, knownKeys, func() func(int) error { return func(i int) error { return warm(known[i]) } })
		}
		drive(b, inFlight, func() func(int) error { return func(i int) error { return do(keys[i%len(keys)]) } }, s.count)
	})
}
