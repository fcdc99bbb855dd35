package operate

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// list writes one line for each key. Names are quoted where they hold more than
// one word of plain text, so that none can pass for another or for a line.
func list(ctx context.Context, o *runtime.Operator, args []string, stdout io.Writer) error {
	f := flag.NewFlagSet("list", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var filter runtime.Filter
	rangeFlags(f, &filter)
	f.StringVar(&filter.Operation, "operation", "", "")
	f.StringVar((*string)(&filter.State), "state", "", "")
	f.BoolVar(&filter.HalfDone, "half-done", false, "")
	f.IntVar(&filter.Limit, "limit", 0, "")
	if err := f.Parse(args); err != nil {
		return fmt.Errorf("%w: list: %w", errUsage, err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%w: list takes flags alone, got %q", errUsage, f.Arg(0))
	}
	found, err := o.List(ctx, filter)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PRINCIPAL\tSCOPE\tKEY\tSTATE\tOPERATION\tAGE\tLEASE LEFT\tSTATUS\tBYTES")
	for _, key := range found.Keys {
		state, status, left := string(key.State), "-", "-"
		if key.RecoveryPoint != "" {
			state += ", half done"
		}
		if key.Status != 0 {
			status = strconv.Itoa(key.Status)
		} else {
			left = short(key.LeaseLeft)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", word(key.Fence.Principal), word(key.Fence.Scope), word(key.Fence.Key),
			state, quoted(key.Operation, " /"), short(key.OwnerAge), left, status, key.AnswerBytes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return sayMore(stdout, found)
}

// rangeFlags adds the flags of where to look.
func rangeFlags(f *flag.FlagSet, filter *runtime.Filter) {
	f.StringVar(&filter.Principal, "principal", "", "")
	f.IntVar(&filter.Reads, "reads", 0, "")
	f.Func("after", "", func(text string) (err error) {
		filter.After, err = parseCursor(text)
		return err
	})
}

// sayMore says where to go on after a list that ended at a bound.
func sayMore(stdout io.Writer, found runtime.List) error {
	if !found.More {
		return nil
	}
	_, err := fmt.Fprintf(stdout, "\n%d rows read; there may be more: -after %s\n", found.Read, cursor(found.Next))
	return err
}

// cursor is a key as one word, whatever bytes it holds.
func cursor(id runtime.ID) string {
	return fmt.Sprintf("%x.%x.%x", id.Principal, id.Scope, id.Key)
}

func parseCursor(text string) (runtime.ID, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return runtime.ID{}, errors.New("a cursor is what a list printed behind -after")
	}
	for i, part := range parts {
		raw, err := hex.DecodeString(part)
		if err != nil {
			return runtime.ID{}, errors.New("a cursor is what a list printed behind -after")
		}
		parts[i] = string(raw)
	}
	return runtime.ID{Principal: parts[0], Scope: parts[1], Key: parts[2]}, nil
}

// word is a name as a column of its own.
func word(name string) string {
	if name == "" {
		return "-"
	}
	return quoted(name, "/")
}

// quoted is a name, quoted unless it is letters, digits and a few signs.
func quoted(name, signs string) string {
	plain := name != "" && name != "-" && strings.Trim(name, " ") == name
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:@+="+signs, r)) {
			plain = false
		}
	}
	if plain {
		return name
	}
	return strconv.QuoteToGraphic(name)
}

// short is a duration as a list shows it.
func short(d time.Duration) string {
	if d > time.Minute || d < -time.Minute {
		return d.Round(time.Second).String()
	}
	return d.String()
}

// hashFlags are the flags of a look-up by the hash of a key.
type hashFlags struct {
	filter     runtime.Filter
	secretFile string
	secretEnv  string
}

func newHashFlags(f *flag.FlagSet) *hashFlags {
	h := &hashFlags{}
	f.StringVar(&h.filter.KeyHash, "hash", "", "")
	f.StringVar(&h.secretFile, "secret-file", "", "")
	f.StringVar(&h.secretEnv, "secret-env", "", "")
	rangeFlags(f, &h.filter)
	return h
}

// given reports whether a key is named by its hash, or was meant to be.
func (h *hashFlags) given(f *flag.FlagSet) (given bool) {
	f.Visit(func(set *flag.Flag) { given = given || set.Name != "scope" && set.Name != "answer" })
	return given
}

// secret reads the secret from where the flags say; nil is the operator's own.
func (h *hashFlags) secret() ([]byte, error) {
	switch {
	case h.secretFile != "" && h.secretEnv != "":
		return nil, fmt.Errorf("%w: show takes one of -secret-file and -secret-env", errUsage)
	case h.secretFile != "":
		text, err := os.ReadFile(h.secretFile)
		if err != nil {
			return nil, err
		}
		return []byte(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")), nil
	case h.secretEnv != "":
		text, ok := os.LookupEnv(h.secretEnv)
		if !ok {
			return nil, fmt.Errorf("the environment has no variable %s", h.secretEnv)
		}
		return []byte(text), nil
	}
	return nil, nil
}

// show shows every key that has the hash.
func (h *hashFlags) show(ctx context.Context, o *runtime.Operator, f *keyFlags, answer bool, stdout io.Writer) (err error) {
	if f.NArg() > 0 || f.scope != "" || h.filter.KeyHash == "" {
		return fmt.Errorf("%w: show takes a principal and a key, or -hash", errUsage)
	}
	if h.filter.Secret, err = h.secret(); err != nil {
		return err
	}
	found, err := o.List(ctx, h.filter)
	if err != nil {
		return err
	}
	for _, key := range found.Keys {
		if err := writeReport(stdout, key, true); err != nil {
			return err
		}
		if answer {
			if err := showAnswer(ctx, o, key.Fence.ID, stdout); err != nil && !errors.Is(err, errNotDone) {
				return err
			}
		}
		fmt.Fprintln(stdout)
	}
	if err := sayMore(stdout, found); err != nil {
		return err
	}
	if len(found.Keys) == 0 {
		return fmt.Errorf("%w: no key of the %d rows that were read has this hash", errNotDone, found.Read)
	}
	return nil
}
