package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	if 0 <= r.ContentLength && r.ContentLength < firstRead {
		return readShort(w, r.Body, r.ContentLength, limit)
	}
	return readLong(w, r.Body, r.ContentLength, limit)
}

// readShort reads a body whose promised length is worth its memory.
func readShort(w http.ResponseWriter, from io.ReadCloser, length, limit int64) ([]byte, error) {
	body, n := make([]byte, length+1), 0
	for n < len(body) {
		read, err := from.Read(body[n:])
		n += read
		if err == io.EOF {
			return body[:n:n], nil
		}
		if err != nil {
			return nil, bodyUnreadable(err)
		}
	}
	// It goes on where it should end: something unpacked it on its way.
	rest := io.MultiReader(bytes.NewReader(body), from)
	return readLong(w, io.NopCloser(rest), -1, limit)
}

// readLong reads a body of any length; -1 is one that is not known.
func readLong(w http.ResponseWriter, from io.ReadCloser, length, limit int64) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(length+bytes.MinRead, bytes.MinRead), firstRead)))
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, from, limit))
	if err == nil {
		return buffer.Bytes(), nil
	}
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, bodyTooLarge(limit)
	}
	return nil, bodyUnreadable(err)
}

func bodyTooLarge(limit int64) *Error {
	return &Error{Status: 413, Code: CodeBodyTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
}

func bodyUnreadable(err error) *Error {
	return &Error{Status: 400, Code: CodeBodyUnreadable, Message: "The body could not be read.", Cause: err}
}
