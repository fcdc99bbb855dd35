// Package operate is a command line for the operator of a ledger: looking a key
// up, by itself or by the hash that logs show, listing keys, releasing or completing a wedged one, counting, erasing a principal,
// sweeping. A service's own main of a few lines opens the ledger and calls
// [Main]; see docs/operations.md. Only the standard library is imported.
package operate

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/idemgen/idemgen/internal/visible"
	"github.com/idemgen/idemgen/runtime"
)

const usage = `usage:
  show [-scope S] [-answer] PRINCIPAL KEY
        a key's state, age, lease, size and fence; with -answer also the stored answer
  show -hash HEX [-secret-file FILE | -secret-env NAME] [-principal P] [-reads N] [-after CURSOR]
        the same of each key whose hash logs show as HEX. The secret of the hashes is FILE's text, without a line break
        at its end, or the variable NAME of the environment; without either it is the one that this program was built to take
  list [-principal P] [-operation O] [-state S] [-half-done] [-limit N] [-reads N] [-after CURSOR]
        keys in their order, at most N of them (100), out of at most N rows that are read (100000). S is pending, stale,
        completed or expired, as in count. -after goes on where another list ended
  release [-scope S] -generation N -owner HEX PRINCIPAL KEY
        delete a pending claim, so that the next request runs: for work that is known not to have happened
  complete [-scope S] -generation N -owner HEX -status N [-type T] [-body FILE] [-retain D] [-gone D] PRINCIPAL KEY
        store an answer for a pending claim, so that its work never runs again: for work that has happened. It is kept for
        as long as the claim promised; -retain and -gone make that longer
  count
        rows by operation and state
  erase PRINCIPAL
        delete a principal's rows, except those whose work is running or half done
  sweep
        clear all rows that are due
`

// Main runs one command and returns the exit status: 0 done, 1 not done (no
// such key, a fence that does not hold), 2 wrong usage or a ledger that failed.
// Answers go to stdout, errors to stderr.
// Control characters of what is shown, which may be a client's, are escaped.
func Main(ctx context.Context, o *runtime.Operator, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	commands := map[string]func(context.Context, *runtime.Operator, []string, io.Writer) error{
		"show": show, "release": release, "complete": complete, "list": list, "count": count, "erase": erase, "sweep": sweep,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return 2
	}
	err := commands[args[0]](ctx, o, args[1:], stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNotDone):
		fmt.Fprintln(stderr, err)
		return 1
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "%v\n%s", err, usage)
	default:
		fmt.Fprintln(stderr, err)
	}
	return 2
}

var (
	errNotDone = errors.New("nothing was done")
	errUsage   = errors.New("wrong usage")
)

// keyFlags are the flags of commands on one key.
type keyFlags struct {
	*flag.FlagSet
	scope      string
	generation int64
	owner      string
}

func newKeyFlags(name string) *keyFlags {
	f := &keyFlags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.StringVar(&f.scope, "scope", "", "")
	return f
}

// fenced adds the flags that name a claim.
func (f *keyFlags) fenced() {
	f.Int64Var(&f.generation, "generation", 0, "")
	f.StringVar(&f.owner, "owner", "", "")
}

// id parses the arguments and returns the key that they name.
func (f *keyFlags) id(args []string) (runtime.ID, error) {
	if err := f.Parse(args); err != nil {
		return runtime.ID{}, fmt.Errorf("%w: %s: %w", errUsage, f.Name(), err)
	}
	if f.NArg() != 2 {
		return runtime.ID{}, fmt.Errorf("%w: %s takes a principal and a key, got %d arguments", errUsage, f.Name(), f.NArg())
	}
	return runtime.ID{Principal: f.Arg(0), Scope: f.scope, Key: f.Arg(1)}, nil
}

// fence parses the arguments and returns the claim that they name.
func (f *keyFlags) fence(args []string) (runtime.Fence, error) {
	id, err := f.id(args)
	if err != nil {
		return runtime.Fence{}, err
	}
	fence := runtime.Fence{ID: id, Generation: f.generation}
	owner, err := hex.DecodeString(f.owner)
	if err != nil || len(owner) != len(fence.Owner) || f.generation < 1 {
		return runtime.Fence{}, fmt.Errorf("%w: %s needs -generation and -owner as show prints them", errUsage, f.Name())
	}
	copy(fence.Owner[:], owner)
	return fence, nil
}

func show(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	f := newKeyFlags("show")
	answer := f.Bool("answer", false, "")
	hashed := newHashFlags(f.FlagSet)
	if err := f.Parse(args); err == nil && hashed.given(f.FlagSet) {
		return hashed.show(ctx, o, f, *answer, stdout)
	}
	id, err := f.id(args)
	if err != nil {
		return err
	}
	report, found, err := o.Report(ctx, id)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: no row holds this key", errNotDone)
	}
	if err := writeReport(stdout, report, false); err != nil || !*answer {
		return err
	}
	return showAnswer(ctx, o, id, stdout)
}

// writeReport writes what a row tells of its key, and the key where that was not
// given.
func writeReport(stdout io.Writer, report runtime.KeyReport, named bool) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if id := report.Fence.ID; named {
		fmt.Fprintf(w, "principal\t%s\nscope\t%s\nkey\t%s\n", word(id.Principal), word(id.Scope), word(id.Key))
	}
	fmt.Fprintf(w, "state\t%s\noperation\t%s\nrule\t%s\n", report.State, report.Operation, report.Policy)
	fmt.Fprintf(w, "owner's age\t%v\nlease left\t%v\nexpires in\t%v\n", report.OwnerAge, report.LeaseLeft, report.ExpiresIn)
	fmt.Fprintf(w, "answer\t%d, %d bytes\n", report.Status, report.AnswerBytes)
	fmt.Fprintf(w, "fence\t-generation %d -owner %x\n", report.Fence.Generation, report.Fence.Owner)
	return w.Flush()
}

func showAnswer(ctx context.Context, o *runtime.Operator, id runtime.ID, stdout io.Writer) error {
	stored, found, err := o.Answer(ctx, id)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: the key has no answer", errNotDone)
	}
	fmt.Fprintln(stdout)
	for _, field := range stored.Header {
		fmt.Fprintf(stdout, "%s: %s\n", field.Name, field.Value)
	}
	fmt.Fprintf(stdout, "\n%s\n", stored.Body)
	return nil
}

func release(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	f := newKeyFlags("release")
	f.fenced()
	fence, err := f.fence(args)
	if err != nil {
		return err
	}
	return done(stdout, "released")(o.Release(ctx, fence))
}

func complete(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	f := newKeyFlags("complete")
	f.fenced()
	status := f.Int("status", 0, "")
	contentType := f.String("type", "application/json", "")
	file := f.String("body", "", "")
	retain := f.Duration("retain", 0, "")
	gone := f.Duration("gone", 0, "")
	fence, err := f.fence(args)
	if err != nil {
		return err
	}
	if *status < 200 || *status > 599 {
		return fmt.Errorf("%w: complete: -status %d is not the status of an answer: from 200 to 599", errUsage, *status)
	}
	answer := runtime.Answer{Status: *status}
	if *file != "" {
		if answer.Body, err = os.ReadFile(*file); err != nil {
			return err
		}
		answer.Header = runtime.Header{{Name: "Content-Type", Value: *contentType}}
	}
	return done(stdout, "completed")(o.Complete(ctx, fence, answer, runtime.Terms{Retain: *retain, Gone: *gone}))
}

// done says that a fenced act happened, or that its fence did not hold.
func done(stdout io.Writer, what string) func(bool, error) error {
	return func(held bool, err error) error {
		if err == nil && !held {
			err = fmt.Errorf("%w: the claim is not pending under this fence, or it is half done and may only be completed", errNotDone)
		}
		if err == nil {
			fmt.Fprintln(stdout, what)
		}
		return err
	}
}

func count(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: count takes no arguments", errUsage)
	}
	counts, err := o.Counts(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPERATION\tSTATE\tROWS")
	for _, c := range counts {
		fmt.Fprintf(w, "%s\t%s\t%d\n", c.Operation, c.State, c.Rows)
	}
	return w.Flush()
}

func erase(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: erase takes a principal", errUsage)
	}
	n, err := o.Erase(ctx, args[0])
	fmt.Fprintf(stdout, "%d rows erased\n", n)
	return err
}

func sweep(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: sweep takes no arguments", errUsage)
	}
	n, err := o.Sweep(ctx)
	fmt.Fprintf(stdout, "%d rows cleared\n", n)
	return err
}
