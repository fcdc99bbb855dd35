package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
)

// FuzzBody sends bodies on the wire, under a promised length or in chunks: at
// most the limit is taken, whole or not at all.
func FuzzBody(f *testing.F) {
	f.Add([]byte("hello"), int64(5), false)
	f.Add([]byte("hello"), int64(6), false)
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), int64(0), true)
	f.Add([]byte("5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"), int64(0), true)
	f.Add([]byte("ffffffffffffffff\r\n"), int64(0), true)
	f.Add([]byte("21\r\n0123456789abcdef0123456789abcdef0\r\n0\r\n\r\n"), int64(0), true)
	f.Add(bytes.Repeat([]byte("x"), 33), int64(33), false)
	f.Fuzz(func(t *testing.T, sent []byte, length int64, chunked bool) {
		const limit = 32
		framing := fmt.Sprintf("Content-Length: %d", length)
		if chunked {
			framing = "Transfer-Encoding: chunked"
		}
		r, err := readRequest("POST / HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n" + string(sent))
		if err != nil {
			return
		}
		body, err := readBody(httptest.NewRecorder(), r, limit)
		if err != nil {
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Status != 413 && refusal.Status != 400 || body != nil {
				t.Fatalf("%q: %q, %v", sent, body, err)
			}
			if !chunked && length <= int64(len(sent)) && length <= limit {
				t.Fatalf("%q of %d bytes was refused: %v", sent, length, err)
			}
			return
		}
		if len(body) > limit {
			t.Fatalf("%d bytes were taken; the limit is %d", len(body), limit)
		}
		if !chunked && !bytes.Equal(body, sent[:length]) {
			t.Fatalf("%q, of which %d bytes are the body, was read as %q", sent, length, body)
		}
	})
}
