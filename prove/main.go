// Command prove attacks a server whose handlers idemgen guards, on a real
// database, and looks for double effects and lost answers.
//
//	prove [flags] -- DATABASE_URL={db} server -addr {listen}
//
// It starts several processes of the server on one database, each behind a
// fault proxy, kills and pauses them, cuts their connections and restarts the
// database, while clients ask and retry. Then it prints what was attacked, how
// often, and what was found. It exits with 1 when a promise was broken, and with
// 2 when it could not attack. It runs on Linux. docs/proof.md shows how it is
// used.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/idemgen/idemgen/prove/faults"
)

func main() {
	// net/http logs what attacks do to its connections.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// run returns how many promises were found to be broken.
func run(ctx context.Context) (found int, err error) {
	var w words
	w.define(flag.CommandLine)
	length := flag.Duration("for", time.Minute, "how long to attack; the rest that follows takes a lease and more")
	seed := flag.Uint64("seed", 0, "seed of the attackers and clients; 0 takes a new one")
	file := flag.String("report", "", "file to write the report to, as JSON")
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(rand.Uint32())
	}
	folder, err := os.MkdirTemp("", "prove-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	target, err := w.target(flag.Args(), folder)
	if err != nil {
		return 0, err
	}
	defer w.close()
	report, err := faults.Run(ctx, faults.Options{For: *length, Seed: *seed, Rehearse: true}, target)
	if err != nil {
		return 0, fmt.Errorf("seed %d: %w", *seed, err)
	}
	report.Print(os.Stdout)
	if *file != "" {
		return len(report.Violations), report.Write(*file)
	}
	return len(report.Violations), nil
}
