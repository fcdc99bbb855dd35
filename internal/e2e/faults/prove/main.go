// Command prove attacks everything that the product promises: the engine in a
// simulation, servers over raw connections, and real processes and databases
// with faults. It prints what was attacked, how often, and what was found, and
// exits with 1 when a promise was broken.
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

	"github.com/idemgen/idemgen/internal/e2e/faults"
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long to attack")
	seed := flag.Uint64("seed", 0, "seed of the attackers and clients; 0 takes a new one")
	steps := flag.Int("steps", 1_000_000, "steps of the simulation")
	clock := flag.Bool("clock", true, "let the clocks of some servers jump by an hour")
	file := flag.String("report", "", "file to write the report to, as JSON")
	flag.Parse()
	// The payment service and net/http log what attacks do to them.
	log.SetOutput(io.Discard)
	if *seed == 0 {
		*seed = uint64(rand.Uint32())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := faults.Run(ctx, faults.Options{For: *length, Seed: *seed, Clock: *clock})
	if err != nil {
		fmt.Fprintf(os.Stderr, "prove: seed %d: %v\n", *seed, err)
		os.Exit(2)
	}
	for _, more := range []func() error{
		func() error { return simulate(ctx, report, *seed, *steps) },
		func() error { return attack(ctx, report) },
	} {
		if err := more(); err != nil {
			fmt.Fprintf(os.Stderr, "prove: seed %d: %v\n", *seed, err)
			os.Exit(2)
		}
	}
	report.Print(os.Stdout)
	if *file != "" {
		if err := report.Write(*file); err != nil {
			fmt.Fprintln(os.Stderr, "prove:", err)
			os.Exit(2)
		}
	}
	if len(report.Violations) > 0 {
		os.Exit(1)
	}
}
