// Command verifyd serves verification journeys over HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/verifyd/verifyd/verification"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http says there what its callers are told anyway
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errHelp):
	default:
		fmt.Fprintln(os.Stderr, "verifyd: "+err.Error())
		os.Exit(1)
	}
}

// run serves until ctx ends, and then until what is in flight is done.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	s, err := parse(args, getenv, stdout)
	if err != nil {
		return err
	}
	h, err := wire(ctx, s, getenv, stderr)
	if err != nil {
		return err
	}
	return h.serve(ctx, stdout, stderr)
}

// explained is an error on one line, an expected failure with what the log would
// say of its cause, for an operator who has no log yet.
func explained(err error) error {
	text := err.Error()
	var expected *verification.Error
	if errors.As(err, &expected) && expected.Cause != nil {
		text += " (" + expected.Cause.Error() + ")"
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}
