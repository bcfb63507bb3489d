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
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http says there what its callers are told anyway
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, errHelp) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, "verifyd: "+line)
		}
		os.Exit(1)
	}
}

// run serves until ctx ends, and then until what is in flight is done. When the
// host cannot start, the error has one line for each problem, and below them one
// for each warning.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	env := newEnvironment(environ)
	s, err := parse(args, env, stdout)
	if errors.Is(err, errHelp) {
		return err
	}
	var h *host
	var warnings []string
	if err == nil {
		h, warnings, err = wire(ctx, s, env, stderr)
	}
	warnings = append(warnings, env.unknown()...)
	if err != nil {
		return failedStart(err, warnings)
	}
	for _, w := range warnings {
		h.log.Warn(w)
	}
	return h.serve(ctx, stdout, stderr)
}
