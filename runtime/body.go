package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// firstRead is the memory that a promise alone is worth. Most bodies fit into
// it, and clients that promise more and send nothing tie up no more.
const firstRead = 4 << 10

// readBody reads at most limit bytes. The buffer grows with what was received,
// whatever Content-Length promises. A body that lacks what somebody before us
// has read is an error: its fingerprint would be that of another request.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		if r.ContentLength > 0 {
			return nil, bodyConsumed(nil)
		}
		return nil, nil
	}
	w = innermost(w)
	if r.ContentLength > limit {
		refuseUnread(w)
		return nil, bodyTooLarge(limit)
	}
	read := readLong
	if 0 <= r.ContentLength && r.ContentLength < firstRead {
		read = readShort
	}
	ended, known := sawEOF(r.Body)
	body, err := read(w, r.Body, r.ContentLength, limit)
	switch {
	case err != nil:
		return nil, bodyFailed(err)
	case r.ContentLength >= 0 && int64(len(body)) < r.ContentLength:
		return nil, bodyConsumed(nil)
	// Of a body without a length a part that is missing cannot be told, but a
	// form that was looked into can, and one of which nothing is left. Where
	// nobody knows whether there was anything, its type says that there was.
	case r.ContentLength < 0 && (r.MultipartForm != nil || ended || !known && len(body) == 0 && len(r.Header["Content-Type"]) > 0):
		return nil, bodyConsumed(nil)
	}
	return body, nil
}

// sawEOF reports whether a body of net/http's server has been read to its end,
// and whether that is known. The server keeps it in a field of this name, for
// HTTP/1 and HTTP/2, and shows it to nobody; a test tells when that changes.
func sawEOF(body io.ReadCloser) (ended, known bool) {
	v := reflect.ValueOf(body)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false, false
	}
	if v = v.Elem(); v.FieldByName("readCloser").Kind() == reflect.Interface {
		// Expect: 100-continue; the body is inside.
		if v = v.FieldByName("readCloser").Elem(); v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			return false, false
		}
		v = v.Elem()
	}
	if v = v.FieldByName("sawEOF"); v.Kind() != reflect.Bool {
		return false, false
	}
	return v.Bool(), true
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
			return nil, err
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
	return nil, err
}

// innermost is the writer that the others on the way to it wrap, as
// http.ResponseController finds it: it is net/http's own, most often.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		inner := wrapper.Unwrap()
		if inner == nil {
			return w
		}
		w = inner
	}
}

// refuseUnread tells net/http that a body is refused of which nothing was read.
// Without that the connection is reset while the client still sends, and the
// answer is lost with it. A reader that runs over its limit is the one way to
// tell; the body itself is not waited for.
func refuseUnread(w http.ResponseWriter) {
	http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}

// bodyFailed is the answer to a body that ended in an error. The limit may be
// that of an http.MaxBytesHandler before us.
func bodyFailed(err error) *Error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return bodyTooLarge(over.Limit)
	case errors.Is(err, http.ErrBodyReadAfterClose):
		return bodyConsumed(err)
	}
	return &Error{Status: 400, Code: CodeBodyUnreadable, Message: "The body could not be read.", Cause: err}
}

func bodyTooLarge(limit int64) *Error {
	return &Error{Status: 413, Code: CodeBodyTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
}

func bodyConsumed(err error) *Error {
	if err == nil {
		err = errors.New("something in front of this handler has read the body, or a part of it (ParseForm, FormValue, a log), or changed it and kept its Content-Length")
	}
	return &Error{Status: 500, Code: CodeBodyConsumed, Message: "The body did not reach the service whole.", Cause: err}
}

// isMistake reports whether a body is missing by the service's own mistake, of
// which nobody's function needs to be asked.
func isMistake(unread error) bool {
	own, _ := unread.(*Error)
	return own != nil && own.Code == CodeBodyConsumed
}

// readable gives a copy of a request its body from the beginning, or the reason
// why it has none, and forgets what was parsed of it before: a handler decodes
// what was compared.
func readable(copied *http.Request, body []byte, err error) *http.Request {
	rewind(copied, body, err)
	copied.ContentLength = int64(len(body))
	copied.Form, copied.PostForm, copied.MultipartForm = nil, nil, nil
	return copied
}

// rewind lets a request's body be read from the beginning.
func rewind(r *http.Request, body []byte, err error) {
	switch {
	case err != nil:
		r.Body = &brokenBody{err: err}
	case len(body) == 0:
		r.Body = http.NoBody
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
}

// brokenBody is a body that could not be taken.
type brokenBody struct {
	err  error
	read bool
}

// Read implements io.Reader.
func (b *brokenBody) Read([]byte) (int, error) {
	b.read = true
	return 0, b.err
}

// Close implements io.Closer.
func (*brokenBody) Close() error { return nil }

// wasMissed reports whether somebody tried to read a body that could not be
// taken.
func wasMissed(r *http.Request) bool {
	broken, ok := r.Body.(*brokenBody)
	return ok && broken.read
}

// removeUploads removes the files that parsing a multipart form left behind.
// net/http does so for the request that it made, and this is a copy.
func removeUploads(r *http.Request) {
	if r.MultipartForm != nil {
		r.MultipartForm.RemoveAll()
	}
}
