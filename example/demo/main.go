// Command demo tells the story of the shop: it generates the code, starts the
// server with a fresh database, and retries orders in every way that matters.
// It exits with 1 when an answer is not what it should be.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := tell(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func tell(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "idemgen-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "shop")
	fmt.Println("Generating the example and building it.")
	if err := command(ctx, "go", "generate", "./..."); err != nil {
		return err
	}
	if err := command(ctx, "go", "build", "-o", binary, "."); err != nil {
		return err
	}
	s := &story{binary: binary, db: filepath.Join(dir, "orders.db")}
	if err := s.start(); err != nil {
		return err
	}
	defer s.kill()
	return s.tell()
}

// command runs a command in the example's module.
func command(ctx context.Context, name string, args ...string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/idemgen/idemgen/example").Output()
	if err != nil {
		return fmt.Errorf("find the example's module: %w", err)
	}
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = strings.TrimSpace(string(root)), os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// story is a server and what was asked of it. The first thing that goes wrong
// is kept, and the rest is not told.
type story struct {
	binary, db string
	server     *exec.Cmd
	url        string
	err        error
}

// start starts the server and waits for its address.
func (s *story) start() error {
	s.server = exec.Command(s.binary, "-addr", "127.0.0.1:0", "-db", s.db, "-simulate")
	s.server.Stderr = os.Stderr
	out, err := s.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.server.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	var found bool
	if _, s.url, found = strings.Cut(strings.TrimSpace(line), "listening on "); !found {
		return fmt.Errorf("the server said %q", line)
	}
	return nil
}

// kill ends the server as a crash would.
func (s *story) kill() {
	s.server.Process.Kill()
	s.server.Wait()
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string {
	text := fmt.Sprintf("%d", a.status)
	for _, name := range []string{"Location", "Idempotency-Replayed", "Retry-After"} {
		if value := a.header.Get(name); value != "" {
			text += fmt.Sprintf("  %s: %s", name, value)
		}
	}
	body := string(a.body)
	var problem struct{ Error string }
	if json.Unmarshal(a.body, &problem) == nil && problem.Error != "" {
		body = problem.Error
	}
	return text + "  " + body
}

// post places an order for alice.
func (s *story) post(key, body string) (answer, error) {
	r, err := http.NewRequest(http.MethodPost, s.url+"/v1/orders", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return send(r)
}

func send(r *http.Request) (answer, error) {
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, body}, err
}

// say tells a step.
func (s *story) say(format string, args ...any) {
	if s.err == nil {
		fmt.Printf("\n"+format+"\n", args...)
	}
}

// want places an order and checks the answer's status.
func (s *story) want(status int, key, body string) answer {
	if s.err != nil {
		return answer{}
	}
	a, err := s.post(key, body)
	if err == nil && a.status != status {
		err = fmt.Errorf("got %s, want %d", a, status)
	}
	if s.err = err; err == nil {
		fmt.Println("  ", a)
	}
	return a
}

// check keeps what is not as it should be.
func (s *story) check(ok bool, complaint string) {
	if s.err == nil && !ok {
		s.err = fmt.Errorf("%s", complaint)
	}
}

// wantOrders counts alice's orders.
func (s *story) wantOrders(n int) {
	if s.err != nil {
		return
	}
	r, err := http.NewRequest(http.MethodGet, s.url+"/v1/orders", nil)
	if err != nil {
		s.err = err
		return
	}
	r.Header.Set("Authorization", "Bearer alice")
	a, err := send(r)
	if err != nil {
		s.err = err
		return
	}
	var list struct{ Orders []json.RawMessage }
	if s.err = json.Unmarshal(a.body, &list); s.err != nil {
		return
	}
	fmt.Printf("   orders so far: %d\n", len(list.Orders))
	s.check(len(list.Orders) == n, fmt.Sprintf("there should be %d orders", n))
}

func (s *story) tell() error {
	const tea = `{"sku":"tea","qty":2}`
	s.say("A first order under key k1.")
	first := s.want(201, "k1", tea)
	s.wantOrders(1)

	s.say("The answer was lost; the client retries with the same key and gets the same bytes.")
	again := s.want(201, "k1", tea)
	s.check(bytes.Equal(first.body, again.body) && again.header.Get("Idempotency-Replayed") == "true", "the replay differs")
	s.wantOrders(1)

	s.say("Another body under the same key is refused.")
	s.want(422, "k1", `{"sku":"tea","qty":3}`)
	s.wantOrders(1)

	s.say("An order without a key is refused.")
	s.want(400, "", tea)
	s.wantOrders(1)

	s.say("Two at once under key k2: one runs, the other is told when to retry.")
	s.twoAtOnce("k2", `{"sku":"coffee","qty":1,"simulate":{"delay_ms":1500}}`)
	s.wantOrders(2)

	s.say("The server is killed (SIGKILL) while it works on key k3, and started again on the same file.")
	const slow = `{"sku":"cocoa","qty":1,"simulate":{"delay_ms":1000}}`
	s.crash("k3", slow)
	s.wantOrders(2)
	busy := s.want(409, "k3", slow)
	s.say("The lease of the dead owner ends in %s seconds; then the retry takes over.", busy.header.Get("Retry-After"))
	s.takeOver("k3", slow)
	s.wantOrders(3)

	s.say("And that answer, too, is there for good.")
	s.want(201, "k3", slow)
	s.wantOrders(3)
	return s.err
}

// twoAtOnce sends two requests with one key; one must run and one be refused.
func (s *story) twoAtOnce(key, body string) {
	if s.err != nil {
		return
	}
	type reply struct {
		answer
		err error
	}
	replies := make(chan reply)
	for range 2 {
		go func() {
			a, err := s.post(key, body)
			replies <- reply{a, err}
		}()
	}
	statuses := map[int]answer{}
	for range 2 {
		r := <-replies
		if r.err != nil {
			s.err = r.err
			continue
		}
		fmt.Println("  ", r.answer)
		statuses[r.status] = r.answer
	}
	_, ran := statuses[201]
	refused, told := statuses[409]
	s.check(ran && told && refused.header.Get("Retry-After") != "", "one 201 and one 409 with Retry-After should have come")
}

// crash kills the server inside the handler and starts it again.
func (s *story) crash(key, body string) {
	if s.err != nil {
		return
	}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		s.post(key, body)
	}()
	// An order without a sku claims nothing. It is told of a reused key as
	// soon as the slow order's claim stands.
	for s.err == nil {
		a, err := s.post(key, "{}")
		if s.err = err; bytes.Contains(a.body, []byte("idempotency_key_reused")) {
			break
		}
	}
	s.kill()
	<-lost
	fmt.Println("   killed")
	if s.err == nil {
		s.err = s.start()
	}
}

// takeOver retries, as often as it is told to, until the key is free.
func (s *story) takeOver(key, body string) {
	for s.err == nil {
		a, err := s.post(key, body)
		if s.err = err; err != nil {
			return
		}
		if a.status == 409 {
			seconds, err := time.ParseDuration(a.header.Get("Retry-After") + "s")
			if s.err = err; err == nil {
				time.Sleep(seconds)
			}
			continue
		}
		fmt.Println("  ", a)
		s.check(a.status == 201, "the takeover should have answered 201")
		return
	}
}
