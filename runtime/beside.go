package runtime

import (
	"context"
	"errors"
	"fmt"
)

// panicked is a panic of the user's code as an error.
func panicked(what string, p any) error { return fmt.Errorf("idemgen: %s panicked: %v", what, p) }

// beside runs a function of the user's beside its caller, who holds something
// that others wait for: it is waited for until ctx ends. A panic, or the end of
// its goroutine, is an error.
func beside[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	call := startBeside(what, f)
	return call.wait(ctx)
}

// call is a function that runs beside.
type besideCall[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func startBeside[T any](what string, f func() (T, error)) *besideCall[T] {
	c := &besideCall[T]{done: make(chan struct{}), err: errors.New("idemgen: " + what + " ended its goroutine")}
	go func() {
		defer close(c.done)
		defer func() {
			if p := recover(); p != nil {
				c.err = panicked(what, p)
			}
		}()
		c.value, c.err = f()
	}()
	return c
}

// wait returns what the function came to, or ctx's error when that ends first.
func (c *besideCall[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// failed reports whether the function has returned with an error.
func (c *besideCall[T]) failed() bool {
	select {
	case <-c.done:
		return c.err != nil
	default:
		return false
	}
}

// guardedCall runs a function that belongs to the user, or may call what does,
// where a panic would end the process.
func guardedCall(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(what, p)
		}
	}()
	return f()
}
