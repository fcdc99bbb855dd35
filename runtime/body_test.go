package runtime

import (
	"io"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
)

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// A client that says beforehand that it will send too much is not listened to.
func TestPromisedBodyIsRefusedUnread(t *testing.T) {
	r := httptest.NewRequest("POST", "/", untouched{t})
	r.ContentLength = 11
	if _, err := readBody(httptest.NewRecorder(), r, 10); err == nil {
		t.Error("accepted")
	}
}

func TestBodyOfTheLimit(t *testing.T) {
	for size, ok := range map[int]bool{0: true, 9: true, 10: true, 11: false, 1000: false} {
		for _, length := range []int64{int64(size), -1} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", size)))
			r.ContentLength = length
			body, err := readBody(httptest.NewRecorder(), r, 10)
			if (err == nil) != ok || ok && len(body) != size {
				t.Errorf("%d bytes, announced as %d: read %d, %v", size, length, len(body), err)
			}
		}
	}
}

// A promise costs the client nothing, so it must cost the server nothing.
func TestBodyMemoryFollowsTheBytes(t *testing.T) {
	const promise = 1 << 30
	r := httptest.NewRequest("POST", "/", strings.NewReader("x"))
	r.ContentLength = promise
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	readBody(httptest.NewRecorder(), r, promise)
	goruntime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 48<<10 {
		t.Errorf("%d bytes were taken for a body of one", taken)
	}
}

// A body that was unpacked on its way is longer than its length says.
func TestBodyBeyondItsPromise(t *testing.T) {
	for size, ok := range map[int]bool{4: true, 5: true, 10: true, 11: false, 1000: false} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", size)))
		r.ContentLength = 3
		body, err := readBody(httptest.NewRecorder(), r, 10)
		if (err == nil) != ok || ok && string(body) != strings.Repeat("x", size) {
			t.Errorf("%d bytes: read %q, %v", size, body, err)
		}
	}
}
