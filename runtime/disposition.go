package runtime

// Release marks err so that the claim is deleted and a retry runs again,
// whatever the endpoint's failure policy. Release(nil) is nil.
func Release(err error) error { return dispose(err, FailureRelease) }

// Hold marks err so that the claim stays pending until its lease ends,
// whatever the endpoint's failure policy. Hold(nil) is nil.
func Hold(err error) error { return dispose(err, FailureHold) }

// Store marks err so that its answer is final and replayed, whatever the
// endpoint's failure policy, also where it is a 408, 425, 429 or 503 with a
// Retry-After, which is released otherwise. Store(nil) is nil.
func Store(err error) error { return dispose(err, FailureStore) }

func dispose(err error, as Failure) error {
	if err == nil {
		return nil
	}
	return &disposedError{err, as}
}

// unmarked is an error behind its marks.
func unmarked(err error) error {
	for {
		marked, ok := err.(*disposedError)
		if !ok {
			return err
		}
		err = marked.err
	}
}

type disposedError struct {
	err error
	as  Failure
}

func (e *disposedError) Error() string { return e.err.Error() }

func (e *disposedError) Unwrap() error { return e.err }
