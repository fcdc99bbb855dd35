package generate

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
)

// streams is a package whose types have the methods of encoding/json/v2 alone.
var streams = map[string]string{
	"streams.go": `package streams

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"strconv"
)

//idem:api
type Streams interface {
	//idem:endpoint POST /add
	Add(ctx context.Context, in Amount) (*Total, error)

	//idem:endpoint POST /nested
	Nested(ctx context.Context, in Order) (Order, error)
}

// Amount is a number in JSON.
type Amount struct{ cents int64 }

func (a *Amount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '0' {
		return errors.New("want a number")
	}
	a.cents, err = strconv.ParseInt(string(value), 10, 64)
	return err
}

func (a Amount) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteToken(jsontext.Int(a.cents))
}

// Total cannot be written but by its own method.
type Total struct{ Sum func() int64 }

func (t *Total) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteToken(jsontext.Int(t.Sum()))
}

type Order struct {
	Amount Amount ` + "`json:\"amount\"`" + `
}
`,
	"streams_test.go": `package streams

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime/memory"
)

type service struct{}

func (service) Add(_ context.Context, in Amount) (*Total, error) {
	return &Total{func() int64 { return in.cents + 1 }}, nil
}
func (service) Nested(_ context.Context, in Order) (Order, error) { return in, nil }

func TestServed(t *testing.T) {
	server, err := NewStreamsServer(service{}, memory.New(), func(*http.Request) (string, error) { return "alice", nil })
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/add", "41", 200, "42"},
		{"/add", "\"x\"", 400, "want a number"},
		{"/nested", "{\"amount\":7}", 200, "{\"amount\":7}"},
	} {
		r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", string(rune('a'+i)))
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || c.status == 200 && got != c.want {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, got)
		}
	}
}
`,
}

// A type that reads and writes itself by the methods of encoding/json/v2 has a
// body, as one with those of encoding/json has. Go 1.27 and later call them;
// before, an experiment does.
func TestStreamMethods(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	for name, content := range streams {
		writeFile(t, filepath.Join(module, name), content)
	}
	cfg := moduleConfig(module)
	list := exec.Command("go", "list", "encoding/json/jsontext")
	list.Dir, list.Env = module, cfg.Env
	if list.Run() != nil {
		cfg.Env = append(cfg.Env, "GOEXPERIMENT=jsonv2")
	} else {
		runGo(t, module, "mod", "edit", "-go=1.27.0")
	}
	result, err := Generate(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Write(); err != nil {
		t.Fatal(err)
	}
	test := exec.Command("go", "test", "./...")
	test.Dir, test.Env = module, cfg.Env
	if output, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
