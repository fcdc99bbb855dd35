// Package prove_test runs the command prove as users do: against a server that
// knows nothing of it.
package prove_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/faults"
)

// folder holds the commands, built once, under the names that docs/proof.md
// gives them.
var folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "prove-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	for name, pkg := range map[string]string{
		"prove": "github.com/idemgen/idemgen/prove", "shop": "github.com/idemgen/idemgen/example", "forgetful": "./forgetful",
		"payments": "github.com/idemgen/idemgen/example/payments/server",
	} {
		if out, err := process.Try(".", process.Env(), "go", "build", "-o", filepath.Join(folder, name), pkg); err != nil {
			fmt.Fprintln(os.Stderr, err, out)
			return 1
		}
	}
	return m.Run()
}

// attack runs a command line of the shell, and returns its exit code, what it
// printed, and its report.
func attack(t *testing.T, line string) (code int, out string, report faults.Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	// The first word is the command itself.
	c := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(line, "prove ", folder+"/prove -report "+file+" ", 1))
	c.Dir = folder
	text, err := c.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(content, &report); err != nil {
			t.Fatal(err)
		}
	}
	return c.ProcessState.ExitCode(), string(text), report
}

var example = regexp.MustCompile("(?s)<!-- run: (\\S+) -->\n```sh\n(.*?)\n```")

// examples are the command lines of docs/proof.md, by name, with less time.
func examples(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(process.Root(t), "docs", "proof.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, m := range example.FindAllStringSubmatch(string(text), -1) {
		line := strings.Replace(m[2], "go run github.com/idemgen/idemgen/prove@latest", "prove", 1)
		if lines[m[1]] = strings.Replace(line, "-for 10m", "-for 15s", 1); lines[m[1]] == m[2] {
			t.Fatalf("%s is no command line of prove: %s", m[1], m[2])
		}
	}
	return lines
}

// The example of the documentation keeps its promises, and was attacked.
func TestExamples(t *testing.T) {
	lines := examples(t)
	for name, attacks := range map[string][]string{
		"orders":        {"server: servers killed"},
		"cancellations": {"server: servers killed", "server: connections cut"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, report := attack(t, lines[name])
			if code != 0 || len(report.Violations) > 0 || report.Checked["effects looked for"] == 0 {
				t.Errorf("%s\nended with %d:\n%s", lines[name], code, out)
			}
			for _, what := range attacks {
				if report.Attacked[what] == 0 {
					t.Errorf("%s: never\n%s", what, out)
				}
			}
		})
	}
}

// Charges are made by another service, on the way to which things go wrong, too;
// a derived key makes each once.
func TestDerived(t *testing.T) {
	file := filepath.Join(t.TempDir(), "payments.db")
	paid := process.Start(t, filepath.Join(folder, "payments"), "-addr", "127.0.0.1:0", "-db", file)
	code, out, report := attack(t, fmt.Sprintf(`prove -servers 2 -for 10s -lease 10s -mode derived \
		-request 'POST /v1/orders' -body '{"sku":"{reference}","qty":{amount}}' -header 'Authorization: Bearer {principal}' \
		-service payments=%s -effects-db %s -effects 'SELECT reference, cents / 250 FROM charges' \
		-- ./shop -addr {listen} -db {db} -payments http://{payments}`, strings.TrimPrefix(paid.URL, "http://"), file))
	harmed := 0
	for what, times := range report.Attacked {
		if strings.HasSuffix(what, "on the way to payments") {
			harmed += times
		}
	}
	if code != 0 || report.Checked["effects looked for"] == 0 || harmed == 0 {
		t.Errorf("it ended with %d, after %d attacks on the way to payments:\n%s", code, harmed, out)
	}
}

const forgetful = `prove -servers 2 -for 3s -lease 10s -mode claim -request 'POST /v1/orders' -body '{"sku":"{reference}","qty":{amount}}' \
	-header 'Authorization: Bearer {principal}' -effects 'SELECT sku, qty FROM orders' -- ./forgetful -addr {listen} -db {db}`

// A server that forgets keys now and then makes double effects, and is found
// out.
func TestMistakes(t *testing.T) {
	code, out, report := attack(t, forgetful)
	rules := map[string]int{}
	for _, v := range report.Violations {
		rules[v.Rule]++
	}
	t.Log(rules)
	if code != 1 || rules["claimed-run"] == 0 {
		t.Errorf("it ended with %d, and broken are %v; want 1, and claimed-run\n%s", code, rules, out)
	}
}

// What is wrong before any attack is said at once.
func TestRehearsal(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"no keys":    {forgetful + " -every 1", "has no row of the key"},
		"no place":   {strings.Replace(forgetful, "/v1/orders", "/v2/orders", 1), "was answered 404"},
		"no effects": {strings.Replace(forgetful, "FROM orders", "FROM orders WHERE qty = 0", 1), "lists 0 effects"},
		"no server":  {strings.Replace(forgetful, "{listen}", "x", 1), "{listen}"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, _ := attack(t, c.line)
			if code != 2 || !strings.Contains(out, c.want) {
				t.Errorf("it ended with %d and said %s; want 2 and %q", code, out, c.want)
			}
		})
	}
}
