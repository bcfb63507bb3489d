// Measure prints what the load of one tenant does to another tenant, as a table:
//
//	go run ./hosts/internal/noisy/measure -only 'slow vendor, postgres' -runs 3
//
// A run of all rows takes some 20 minutes. Measure starts hosts and a PostgreSQL of its
// own, and stays on the loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/noisy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// run measures what the arguments name.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o := noisy.Options{Scale: noisy.Full()}
	flags.BoolFunc("short", "measure what the tests do", func(string) error {
		o.Scale = noisy.Short()
		return nil
	})
	flags.Func("only", `measure only the rows whose names match this regular expression, such as "slow vendor, postgres",`+
		" and the control on the same stores", func(pattern string) (err error) {
		o.Only, err = regexp.Compile(pattern)
		return err
	})
	flags.IntVar(&o.Runs, "runs", 1, "measure each row this often; the table has the medians")
	if err := flags.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	o.Progress = func(line string) { fmt.Fprintf(stderr, "%5.0fs %s\n", time.Since(began).Seconds(), line) }
	result, err := noisy.Measure(ctx, o)
	if len(result.Rows) > 0 {
		result.Write(stdout)
	}
	return err
}
