// Package boundary lets tests act between two steps of a request: count them,
// end the process there, hang up, or take the claim away. Nothing happens
// outside of tests: only package idemtest arms it.
package boundary

import (
	"context"
	"sync/atomic"
)

// Point is where a request has come to.
type Point struct {
	Name string
	// Abandon leaves the claim as a dead process would whose lease has ended
	// since. It is nil where there is none, or where a transaction is open
	// that only its own end can abandon.
	Abandon func(context.Context) error
	// Transaction says that the work will run in a transaction.
	Transaction bool
}

// Names of points at which tests act. The others are named where they are.
const (
	BeforeHandler = "before the handler"
	AfterHandler  = "after the handler"
	BeforeAnswer  = "before the answer is sent"
	AfterAnswer   = "after the answer is sent"
)

var armed atomic.Bool

type hookKey struct{}

// Arm makes engines that are built from now on report what they ask of their
// ledgers.
func Arm() { armed.Store(true) }

// Armed reports whether anything listens in this process.
func Armed() bool { return armed.Load() }

// With returns a context under which hook is called at every point.
func With(ctx context.Context, hook func(Point)) context.Context {
	Arm()
	return context.WithValue(ctx, hookKey{}, hook)
}

// Reach says where the request of ctx has come to.
func Reach(ctx context.Context, name string) {
	if Armed() {
		ReachPoint(ctx, Point{Name: name})
	}
}

// ReachPoint is [Reach] for a point with more to it. Ask [Armed] first.
func ReachPoint(ctx context.Context, p Point) {
	if hook, ok := ctx.Value(hookKey{}).(func(Point)); ok {
		hook(p)
	}
}
