package idemtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// Outcome is what is left of one request whose server died.
type Outcome struct {
	Dir      string // the folder that was given to the server
	Key      string // what was given to the request
	Boundary string // where the first server died; "" where it did not
	Status   int    // of the answer in the end
	Header   http.Header
	Body     []byte
}

const (
	childOf     = "IDEMTEST_SERVER_OF" // the name of the test
	childDir    = "IDEMTEST_DIR"
	childDiesAt = "IDEMTEST_DIES_AT" // the number of a boundary, 0 for none

	listening = "idemtest: listening on "
	reached   = "idemtest: dies "

	maxBoundaries = 500
	maxAttempts   = 100
	startLimit    = time.Minute
)

// EveryBoundary starts a server of the service's own in a process of its own,
// sends it one request, and kills the process at a boundary of that request:
// before and after each statement of the ledger, the handler and the answer,
// and at every [Boundary]. Then it starts the server again, lets the claim's
// lease pass, and sends the request until it is answered, twice: the second
// answer must be a replay of the first. This it does for one boundary after the
// other, each in a subtest with a new folder, and last for a server that does
// not die, whose answer is lost. After each, check is called in the test's own
// process, to count the effects.
//
// serve makes the server: it opens its database in dir, so that the next
// process finds what this one has left. It is called in the other process,
// which is the test's own binary, run for this test alone: what the test does
// before it calls EveryBoundary happens there too. request makes the request,
// the same for every call with one key.
func EveryBoundary(t *testing.T, serve func(dir string) (http.Handler, error), request func(url, key string) *http.Request, check func(t *testing.T, o Outcome)) {
	t.Helper()
	switch of := os.Getenv(childOf); {
	case of == t.Name():
		serveChild(serve)
	case of != "":
		t.Fatalf("idemtest: EveryBoundary: %s runs in the process of a server of %s", t.Name(), of)
	}
	if _, twice := called.LoadOrStore(t.Name(), true); twice {
		t.Fatal("idemtest: EveryBoundary is called once in a test: its other process would not know which call is meant; use t.Run")
	}
	t.Cleanup(func() { called.Delete(t.Name()) }) // it may be run again, by -count
	name := t.Name()
	for n := 1; n <= maxBoundaries; n++ {
		// The subtest's name is known when its server has died.
		dir, key := t.TempDir(), fmt.Sprintf("boundary-%d", n)
		at, err := killed(t, name, dir, n, request, key)
		if err != nil {
			t.Fatalf("idemtest: EveryBoundary: boundary %d: %v", n, err)
		}
		title := fmt.Sprintf("%02d %s", n, at)
		if at == "" {
			title = "answer lost"
		}
		t.Run(title, func(t *testing.T) {
			o, err := answered(t, name, dir, request, key)
			if err != nil {
				t.Fatalf("idemtest: EveryBoundary: %v", err)
			}
			o.Boundary = at
			check(t, o)
		})
		if at == "" {
			return
		}
	}
	t.Fatalf("idemtest: EveryBoundary: one request has more than %d boundaries", maxBoundaries)
}

// killed sends the request to a server that dies at the nth boundary, and
// returns its name, or "" where the request has fewer. The answer is thrown
// away.
func killed(t *testing.T, name, dir string, n int, request func(url, key string) *http.Request, key string) (at string, err error) {
	s, err := startChild(t, name, dir, n)
	if err != nil {
		return "", err
	}
	defer s.kill()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	response, err := http.DefaultTransport.RoundTrip(request(s.url, key).WithContext(ctx))
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	if err == nil && n == 1 {
		return "", fmt.Errorf("the request reached no ledger: it was answered with status %d", response.StatusCode)
	}
	s.kill() // and everything that it printed has been read
	if err != nil && s.point() == "" {
		return "", fmt.Errorf("the server broke off without having reached a boundary: %w\n%s", err, s.log())
	}
	return s.point(), nil
}

// answered sends the request to a server that lives, until it is answered, and
// once more.
func answered(t *testing.T, name, dir string, request func(url, key string) *http.Request, key string) (Outcome, error) {
	s, err := startChild(t, name, dir, 0)
	if err != nil {
		return Outcome{}, err
	}
	defer s.kill()
	for attempt := 1; ; attempt++ {
		first, body, err := roundTrip(t, request(s.url, key))
		if err != nil {
			return Outcome{}, fmt.Errorf("%w\n%s", err, s.log())
		}
		if invites(first) && attempt < maxAttempts {
			time.Sleep(10 * time.Millisecond) // between requests of a client that was asked to come again
			continue
		}
		second, again, err := roundTrip(t, request(s.url, key))
		if err != nil {
			return Outcome{}, fmt.Errorf("%w\n%s", err, s.log())
		}
		recorded := httptest.NewRecorder()
		maps.Copy(recorded.Header(), second.Header)
		recorded.WriteHeader(second.StatusCode)
		recorded.Write(again)
		if difference := differs(first, body, recorded); difference != "" {
			return Outcome{}, fmt.Errorf("%s\n%s", difference, s.log())
		}
		return Outcome{Dir: dir, Key: key, Status: first.StatusCode, Header: first.Header, Body: body}, nil
	}
}

// invites reports whether an answer says that the same request should come
// again.
func invites(r *http.Response) bool {
	return r.Header.Get("Retry-After") != "" && (r.StatusCode == http.StatusConflict || r.StatusCode == http.StatusServiceUnavailable)
}

func roundTrip(t *testing.T, r *http.Request) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	response, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Header.Del("Date") // of the server's clock, not of the answer
	return response, body, err
}

// child is a server in a process of its own.
type child struct {
	url     string
	command *exec.Cmd
	stdin   io.Closer
	once    sync.Once
	read    chan struct{} // closed when everything it printed was read

	mu   sync.Mutex
	at   string
	said strings.Builder
}

// called are the running tests that have called EveryBoundary, by name.
var called sync.Map

// startChild runs the test of that name in another process, which serves.
func startChild(t *testing.T, name, dir string, diesAt int) (*child, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var pattern []string
	for _, part := range strings.Split(name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	c := &child{command: exec.Command(binary, "-test.run="+strings.Join(pattern, "/"), "-test.count=1"), read: make(chan struct{})}
	c.command.Env = append(os.Environ(), childOf+"="+name, childDir+"="+dir, childDiesAt+"="+strconv.Itoa(diesAt))
	// The process ends with ours, whatever ends that.
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.command.Stderr = c.command.Stdout
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(c.kill)
	started := make(chan string, 1)
	go c.listen(out, started)
	select {
	case c.url = <-started:
	case <-time.After(startLimit):
	}
	if c.url == "" {
		c.kill()
		return nil, fmt.Errorf("the server did not start; it said:\n%s", c.log())
	}
	return c, nil
}

// listen reads what the process prints.
func (c *child) listen(out io.Reader, started chan<- string) {
	defer close(c.read)
	defer close(started)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		c.mu.Lock()
		c.said.WriteString(line)
		if _, at, found := strings.Cut(line, reached); found {
			c.at = strings.TrimSuffix(at, "\n")
		}
		c.mu.Unlock()
		if _, url, found := strings.Cut(line, listening); found {
			started <- strings.TrimSpace(url)
		}
		if err != nil {
			return
		}
	}
}

// kill ends the process as a crash would, and waits for its end.
func (c *child) kill() {
	c.once.Do(func() {
		c.command.Process.Kill()
		<-c.read
		c.command.Wait()
		c.stdin.Close()
	})
}

func (c *child) point() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *child) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

// serveChild is the other process. It does not return.
func serveChild(serve func(dir string) (http.Handler, error)) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "idemtest: EveryBoundary:", err)
		os.Exit(1)
	}
	diesAt, err := strconv.Atoi(os.Getenv(childDiesAt))
	if err != nil {
		fail(err)
	}
	boundary.Arm()
	handler, err := serve(os.Getenv(childDir))
	if err != nil {
		fail(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) // until the test's process is gone
		os.Exit(1)
	}()
	var mu sync.Mutex
	passed := 0
	dies := func(p boundary.Point) {
		mu.Lock()
		defer mu.Unlock()
		if passed++; passed != diesAt {
			return
		}
		fmt.Printf("\n%s%s\n", reached, p.Name)
		die()
	}
	fmt.Printf("\n%shttp://%s\n", listening, listener.Addr())
	fail(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(boundary.With(r.Context(), dies)))
	})))
}

// die ends the process at once and goes no further.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Kill()
	}
	select {}
}
