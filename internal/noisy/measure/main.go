// Measure prints what the load of one tenant does to another tenant, as a table:
//
//	go run ./internal/noisy/measure
//
// It takes some 20 minutes, starts hosts and a PostgreSQL of its own, and stays on the
// loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/noisy"
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
	flags.Func("store", "measure this store alone: memory or postgres", func(name string) error {
		o.Stores = append(o.Stores, noisy.Store(name))
		return nil
	})
	flags.Func("attack", "measure this attack alone; may be repeated: "+strings.Join(noisy.Attacks(), ", "), func(name string) error {
		o.Attacks = append(o.Attacks, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	o.Progress = func(line string) { fmt.Fprintf(stderr, "%5.0fs %s\n", time.Since(began).Seconds(), line) }
	result, err := noisy.Measure(ctx, o)
	result.Write(stdout)
	return err
}
