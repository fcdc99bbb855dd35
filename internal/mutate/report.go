package main

import (
	"fmt"
	"strings"
)

const introduction = `# Mutations

Each line is a break that ` + "`make mutate`" + ` made in one place of the engine or of its SQL, and the test that noticed it.
The breaks themselves are in ` + "`internal/mutate`" + `; this page is written by it.

`

// markdown is the page of the results.
func markdown(results []result) string {
	var b strings.Builder
	b.WriteString(introduction)
	fmt.Fprintf(&b, "%d breaks, %d caught.\n", len(results), count(results, caught))
	file := ""
	for _, r := range results {
		if r.file != file {
			file = r.file
			fmt.Fprintf(&b, "\n## %s\n\n| break | test | result |\n|---|---|---|\n", file)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", strings.ReplaceAll(r.what, "|", `\|`), r.test.name, r.outcome)
	}
	return b.String()
}

func count(results []result, o outcome) (n int) {
	for _, r := range results {
		if r.outcome == o {
			n++
		}
	}
	return n
}
