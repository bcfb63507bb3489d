// Fill writes runs that look like those of a service that has been used for a
// while, for developers and operators who want to see how a full database behaves:
//
//	go run ./internal/bench/fill --database-url postgres://... --runs 1000000
//
// The tenant is made if it is not there. Never point it at a database that is in
// use: the runs are locked until it is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/bench"
	"github.com/verifyd/verifyd/verification"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

// run fills the database that the arguments name.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	flags.SetOutput(stderr)
	url := flags.String("database-url", "", "PostgreSQL, as postgres://user:password@host:5432/name; its schema is brought up to date")
	tenant := flags.String("tenant", "f1110000-0000-7000-8000-000000000001", "tenant that gets the runs")
	o := bench.FillOptions{Now: time.Now()}
	flags.IntVar(&o.Runs, "runs", 100_000, "how many runs")
	flags.IntVar(&o.Workflows, "workflows", 10, "over how many workflows they are spread")
	flags.DurationVar(&o.Spread, "spread", 90*24*time.Hour, "over how much time they have started")
	flags.IntVar(&o.Histories, "histories", 100, "of the runs that are over one in so many has a history and can be read, the others are in lists alone")
	flags.Uint64Var(&o.Seed, "seed", uint64(o.Now.UnixNano()), "makes the same runs again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *url == "" || flags.NArg() > 0 {
		return errors.New("give --database-url and flags alone; --help lists them")
	}
	var err error
	if o.Tenant, err = verification.ParseTenantID(*tenant); err != nil {
		return fmt.Errorf("--tenant: %w", err)
	}
	if _, err := postgres.Migrate(ctx, *url); err != nil {
		return err
	}
	s, err := postgres.Open(ctx, *url, postgres.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	o.Progress = func(runs int) { fmt.Fprintf(stderr, "\r%d runs", runs) }
	err = bench.Fill(ctx, s, o)
	fmt.Fprintln(stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "tenant %s has %d runs more, in %s\n", o.Tenant, o.Runs, time.Since(o.Now).Round(time.Second))
	return nil
}
