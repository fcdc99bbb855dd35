package generate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestComplaints holds the table of complaints to what it says: every complaint
// is there, every case exists and names the origin, and what has no case has a
// reason. The cases of packages that are about more than the generator do not
// name origins.
func TestComplaints(t *testing.T) {
	table, err := os.ReadFile("testdata/COMPLAINTS.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (T\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|\r?$`)
	reference := regexp.MustCompile("`([^`]+)`")
	rows := row.FindAllStringSubmatch(string(table), -1)
	if len(rows) != 66 {
		t.Errorf("the table has %d complaints, not 66", len(rows))
	}
	for i, r := range rows {
		id, origin, cases := r[1], r[2], r[4]
		if want := fmt.Sprintf("T%02d", i+1); id != want {
			t.Errorf("%s stands where %s belongs", id, want)
		}
		if !strings.HasPrefix(origin, "https://") && !strings.HasPrefix(origin, "no report: ") {
			t.Errorf("%s: the origin is %q", id, origin)
		}
		references := reference.FindAllStringSubmatch(cases, -1)
		applies := !strings.HasPrefix(cases, "does not apply: ")
		if applies && len(references) == 0 {
			t.Errorf("%s has neither a case nor a reason", id)
		}
		for _, found := range references {
			file, function, isTest := strings.Cut(found[1], ":")
			text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("%s: %v", id, err)
				continue
			}
			if isTest && !strings.Contains(string(text), "\nfunc "+function+"(") {
				t.Errorf("%s: there is no %s in %s", id, function, file)
			}
			elsewhere := strings.HasPrefix(file, "queries/") || strings.HasPrefix(file, "templates/")
			if applies && !elsewhere && strings.HasPrefix(origin, "https://") && !strings.Contains(string(text), origin) {
				t.Errorf("%s: %s does not name %s", id, file, origin)
			}
		}
	}
}
