package runtime

import (
	"fmt"
	"net/http"
)

// capture is the ResponseWriter that a standard handler writes to. Nothing
// reaches the client before the answer is stored, so Flush sends nothing and
// says so, 1xx responses are dropped, and hijacking is not offered. It is used
// as ResponseWriters are: not by several goroutines at once.
type capture struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	status int
	body   []byte
	limit  int64 // body bytes that are kept
	over   bool  // more than limit were written
	// flushed is called at the first Flush, and nil after it.
	flushed func()
}

func newCapture(limit int64) *capture {
	return &capture{header: http.Header{}, limit: limit}
}

// Header implements http.ResponseWriter.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter. Calls after the first are
// ignored, as net/http does.
func (c *capture) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	}
	if c.status != 0 || status < 200 {
		return
	}
	c.status = status
	c.sent = c.header.Clone()
}

// Write implements http.ResponseWriter.
func (c *capture) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if !bodyAllowed(c.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if room := c.limit - int64(len(c.body)); int64(len(p)) > room {
		c.over = true
		c.body = append(c.body, p[:max(0, room)]...)
		return len(p), nil
	}
	c.body = append(c.body, p...)
	return len(p), nil
}

// Flush implements http.Flusher, for handlers that flush by habit.
func (c *capture) Flush() { c.FlushError() }

// FlushError is what [http.ResponseController] asks: it says that flushing is
// not supported.
func (c *capture) FlushError() error {
	c.WriteHeader(http.StatusOK)
	if tell := c.flushed; tell != nil {
		c.flushed = nil
		tell()
	}
	return http.ErrNotSupported
}

// response is what the handler wrote.
func (c *capture) response() *Response {
	c.WriteHeader(http.StatusOK)
	body := c.body
	if c.over {
		// One byte more than any answer may have: it will be found too large.
		body = append(body, 0)
	}
	return &Response{Status: c.status, Header: c.sent, Body: body}
}

// bodyAllowed reports whether an answer of this status carries a body
// (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
func bodyAllowed(status int) bool {
	return status >= 200 && status != 204 && status != 205 && status != 304
}
