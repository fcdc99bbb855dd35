package bench_test

import (
	"fmt"
	"math/rand/v2"
)

// knownKeys is how many keys there are rows for before replays, refusals and
// reads are measured. The runtime remembers far more keys than that.
const knownKeys = 256

// newKeys makes keys as clients do, 36 characters in random order. They are
// made before the clock starts. Each seed gives other keys.
func newKeys(n int, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, seed))
	keys := make([]string, n)
	for i := range keys {
		a, b := random.Uint64(), random.Uint64()
		keys[i] = fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
	}
	return keys
}

// Seeds of keys.
const (
	seedKnown = 1 + iota
	seedFresh
)
