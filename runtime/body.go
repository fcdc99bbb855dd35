package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

// firstRead is the memory that a promise alone is worth. Most bodies fit into
// it, and clients that promise more and send nothing tie up no more.
const firstRead = 4 << 10

// readBody reads at most limit bytes. The buffer grows with what was received,
// whatever Content-Length promises.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(r.ContentLength+bytes.MinRead, bytes.MinRead), firstRead)))
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return buffer.Bytes(), nil
	}
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, bodyTooLarge(limit)
	}
	return nil, &Error{Status: 400, Code: CodeBodyUnreadable, Message: "The body could not be read.", Cause: err}
}

func bodyTooLarge(limit int64) *Error {
	return &Error{Status: 413, Code: CodeBodyTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
}
