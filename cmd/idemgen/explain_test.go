package main

import (
	"encoding/json"
	"testing"

	"github.com/idemgen/idemgen/internal/explain"
)

func TestExplain(t *testing.T) {
	module := newModule(t, map[string]string{"a/a.go": good, "b/b.go": "package b\n"})
	stdout, stderr := idemgen(t, 0, "explain", "-C", module, "./...")
	want(t, "stderr", stderr, "")
	want(t, "stdout", stdout, "POST /do  API.Do  typed  a/a.go:8\n")

	stdout, stderr = idemgen(t, 0, "explain", "-v", "-C", module, "./...")
	want(t, "stderr", stderr, "")
	wantIn(t, "stdout", stdout, "Do  POST /do ")
	wantIn(t, "stdout", stdout, "timeout=25s                                  5/6 of the lease\n")

	stdout, _ = idemgen(t, 0, "explain", "-json", "-C", module, "./...")
	var report explain.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Packages) != 1 || report.Packages[0].APIs[0].Endpoints[0].Line != 8 {
		t.Errorf("the report is %s, %v", stdout, err)
	}

	_, stderr = idemgen(t, 2, "explain", "-C", module, "./b")
	wantIn(t, "stderr", stderr, "no annotated interface in ./b")
	write(t, module, "a/a.go", good+"\n//idem:api\ntype Bad interface{}\n")
	_, stderr = idemgen(t, 1, "explain", "-C", module, "./a")
	wantIn(t, "stderr", stderr, "a/a.go:11:1: Bad has no methods")
}
