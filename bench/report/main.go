// Command report reads the output of the benchmarks on standard input. It
// prints tables in Markdown, says which bars are met, and writes bench.md and
// bench.svg into the folder given with -docs. What it reads it repeats on
// standard error, so that a long run can be watched.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	docs := flag.String("docs", "", "folder to write bench.md and bench.svg into; none when empty")
	command := flag.String("command", "make bench", "the command that measured, for the text")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, os.Stderr, *docs, *command); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out, echo io.Writer, docs, command string) error {
	r, err := parse(io.TeeReader(in, echo))
	if err != nil {
		return err
	}
	text := document(r, command)
	if _, err := io.WriteString(out, text); err != nil || docs == "" {
		return err
	}
	if err := os.WriteFile(filepath.Join(docs, "bench.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "bench.svg"), []byte(chart(r)), 0o644)
}
