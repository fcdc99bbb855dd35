package runtime

import "fmt"

// maxChain bounds how many errors one error may wrap.
const maxChain = 1000

// tame returns an error of the user's as it is, once it has shown that it can
// be handled: its methods are the user's code, which may panic (those of a nil
// pointer in an error do, as a rule) or have no end. It is called while the
// work counts as running, so that nothing of ours is half done when that
// happens. One that cannot be handled is replaced, under its mark, by an error
// that says so and has no status.
func tame(err error) error {
	if err == nil {
		return nil
	}
	left := maxChain
	fault := tryError(err, &left)
	if fault == nil {
		return err
	}
	if marked, ok := err.(*disposedError); ok {
		return &disposedError{fault, marked.as}
	}
	return fault
}

// tryError calls every method of an error, and of those that it wraps, that the
// runtime, package errors or a log may call.
func tryError(err error, left *int) (fault error) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Errorf("idemgen: an error that cannot be handled: a method of its %T panicked: %v", err, p)
		}
	}()
	if *left--; *left < 0 {
		return fmt.Errorf("idemgen: an error that cannot be handled: it wraps more than %d others", maxChain)
	}
	_ = err.Error()
	if decides, ok := err.(statusError); ok {
		decides.HTTPStatus()
	}
	if with, ok := err.(interface{ Is(error) bool }); ok {
		with.Is(errUnfinished)
	}
	if with, ok := err.(interface{ As(any) bool }); ok {
		var marked *disposedError
		with.As(&marked)
	}
	switch wraps := err.(type) {
	case interface{ Unwrap() error }:
		if inner := wraps.Unwrap(); inner != nil {
			return tryError(inner, left)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wraps.Unwrap() {
			if inner == nil {
				continue
			}
			if fault := tryError(inner, left); fault != nil {
				return fault
			}
		}
	}
	return nil
}
