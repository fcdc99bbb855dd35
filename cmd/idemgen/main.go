// Idemgen makes annotated endpoints safe to retry: it generates HTTP wrappers
// and ledger packages from interfaces with //idem: directives.
//
// Usage:
//
//	idemgen [-C dir] [-tags list] [-json] [-v] [-accept] [packages]
//	idemgen check [-C dir] [-tags list] [-json] [-accept] [packages]
//	idemgen explain [-C dir] [-tags list] [-json] [-v] [packages]
//	idemgen vet [-C dir] [-tags list] [-json] [packages]
//	idemgen init [-C dir] [dir]
//	idemgen schema [-form form] [-table name] engine
//	idemgen help [command | directives | idem:directive]
//	idemgen version
//
// It exits with 0 on success, with 1 when the sources break rules (or when
// check finds a difference, or vet a mistake), and with 2 on any other
// trouble. It is a tool for go vet -vettool too. See idemgen help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/generate"
	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/internal/vet"
	"github.com/idemgen/idemgen/internal/visible"
)

func main() {
	if vet.IsUnit(os.Args[1:]) {
		vet.Unit() // does not return
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitGood    = 0
	exitBad     = 1 // the sources break rules, or files differ
	exitTrouble = 2 // wrong usage, or trouble around the sources
)

// run is the program, for main and for tests.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	// Names of files and old lines of theirs are somebody else's text.
	a := &app{stdout: visible.Writer(stdout), stderr: visible.Writer(stderr), terminal: stderr}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "idemgen: internal error, please report it: %v\n", p)
			if a.verbose {
				stderr.Write(debug.Stack())
			}
			code = exitTrouble
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	root := a.root()
	root.SetArgs(spelledOut(args))
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return a.report(root.ExecuteContext(ctx))
}

// app is what the commands share.
type app struct {
	stdout, stderr io.Writer
	terminal       io.Writer // behind stderr
	dir, tags      string
	verbose, json  bool
	accept         bool
}

// root is the command line.
func (a *app) root() *cobra.Command {
	root := a.generateCommand()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{cmd.CommandPath(), err} })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "chdir", "C", "", "work in this `directory`")
	flags.StringVar(&a.tags, "tags", "", "build tags, separated by commas, as for go build")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say what is written, list all problems; explain: whole policies")
	flags.BoolVar(&a.json, "json", false, "print problems to standard error as JSON, one object a line")
	root.AddCommand(a.checkCommand(), a.explainCommand(), a.initCommand(), a.schemaCommand(), a.vetCommand(), a.versionCommand())
	root.SetHelpCommand(a.helpCommand(root))
	return root
}

// generate makes the result that a command works from.
func (a *app) generate(ctx context.Context, patterns []string) (*generate.Result, error) {
	defer a.progress("generating", patterns)()
	result, err := generate.Generate(ctx, generate.Config{Config: a.config(), Accept: a.accept}, patterns...)
	if err != nil {
		return nil, err
	}
	result.Waits = func(text string) { a.printTrouble(errors.New(text)) }
	for _, note := range result.Notes {
		a.printTrouble(errors.New(note))
	}
	return result, nil
}

// config is how the packages are loaded.
func (a *app) config() source.Config { return source.Config{Dir: a.dir, Tags: a.tags} }

// acceptFlag gives a command the flag -accept.
func (a *app) acceptFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.accept, "accept", false, "take changes that make retries in flight run again")
	return cmd
}

// usageError is a command line that makes no sense.
type usageError struct {
	command string
	err     error
}

func (e usageError) Error() string {
	return fmt.Sprintf("%s\nRun '%s --help' for usage.", e.err, e.command)
}

// errDiffers ends a check that found differences and has printed them.
var errDiffers = errors.New("files differ")

// report prints a command's error and returns the exit code.
func (a *app) report(err error) int {
	var problems spec.Problems
	var checked checkError
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errDiffers), errors.Is(err, errFound):
		return exitBad
	case errors.As(err, &problems):
		a.printProblems(problems)
		if errors.As(err, &checked) {
			return exitTrouble
		}
		return exitBad
	default:
		a.printTrouble(err)
		return exitTrouble
	}
}

// spelledOut gives the flags that have several letters a second dash, so that
// they may be written as the go command's are.
func spelledOut(args []string) []string {
	spelled := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(spelled, args[i:]...)
		}
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "-tags", "-json", "-accept", "-form", "-table", "-help", "-verbose", "-chdir":
			arg = "-" + arg
		}
		spelled = append(spelled, arg)
	}
	return spelled
}
