package faults

import (
	"fmt"
	"strings"
	"sync"
)

// told is what servers say of their claims on their standard output, if they
// say anything, in lines that begin with "prove: ". It is safe for concurrent
// use.
type told struct {
	mu       sync.Mutex
	anything bool
	claims   map[string]bool
}

// hear notes that servers tell of their claims.
func (t *told) hear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.anything = true
}

// unstored takes the claim of an answer that could not be stored at once: its
// generation, and principal/key.
func (t *told) unstored(claim string) {
	_, key, _ := strings.Cut(claim, " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims == nil {
		t.claims = map[string]bool{}
	}
	t.claims[claim] = true
	t.claims["0 "+key] = true
}

// mayBeUnstored reports whether an answer may not have been stored: those of
// servers that say nothing always may. Failures do not tell their generation;
// then it is 0.
func (t *told) mayBeUnstored(key string, generation int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.anything || t.claims[fmt.Sprint(generation, " ", key)]
}
