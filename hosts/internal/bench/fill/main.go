// Command fill writes runs like those of a service in use, for developers and
// operators who want to see how a full database behaves:
//
//	go run ./hosts/internal/bench/fill --database-url postgres://... --runs 1000000
//
// It creates the tenant if necessary. Never use it on a production database: the
// runs are locked until it is done.
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
	"github.com/verifyd/verifyd/hosts/internal/bench"
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

// run fills the database of the arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	flags.SetOutput(stderr)
	url := flags.String("database-url", "", "URL of the PostgreSQL database, postgres://user:password@host:5432/name; its schema is migrated")
	tenant := flags.String("tenant", "f1110000-0000-7000-8000-000000000001", "tenant that gets the runs")
	o := bench.FillOptions{Now: time.Now()}
	flags.IntVar(&o.Runs, "runs", 100_000, "number of runs")
	flags.IntVar(&o.Workflows, "workflows", 10, "number of workflows of the runs")
	flags.DurationVar(&o.Spread, "spread", 90*24*time.Hour, "period in which the runs started")
	flags.IntVar(&o.Histories, "histories", 100, "one in this many ended runs has a history and can be read; the others are only in lists")
	flags.Uint64Var(&o.Seed, "seed", uint64(o.Now.UnixNano()), "seed of the random runs; the same seed makes the same runs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *url == "" || flags.NArg() > 0 {
		return errors.New("set --database-url and use only flags; --help lists them")
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
	fmt.Fprintf(stdout, "added %[2]d runs to tenant %[1]s in %[3]s\n", o.Tenant, o.Runs, time.Since(o.Now).Round(time.Second))
	return nil
}
