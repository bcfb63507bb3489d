// Package server is the HTTP host: settings, bootstrap file, API, pages, metrics and
// an orderly stop.
package server

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

// Main runs the host until SIGINT or SIGTERM, with the settings of the command line and
// the environment, and what the options add. If the host cannot start or fails, Main
// prints one line for each problem and exits with code 1. --help and --version print,
// and return.
func Main(options ...Option) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http logs there what handlers already report
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr, options...)
	stop()
	if err != nil && !errors.Is(err, errHelp) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, "verifyd: "+line)
		}
		os.Exit(1)
	}
}

// run serves until ctx ends and the requests and runs in flight are done. If the
// host cannot start, the error has one line for each problem, followed by one for
// each warning.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer, options ...Option) error {
	env := newEnvironment(environ)
	s, err := parse(args, env, stdout)
	if errors.Is(err, errHelp) {
		return err
	}
	var h *host
	var warnings []string
	if err == nil {
		h, warnings, err = wire(ctx, s, env, newAdditions(options), stderr)
	}
	warnings = append(warnings, env.unknown()...)
	if err != nil {
		for _, w := range warnings {
			err = errors.Join(err, errors.New("warning: "+w))
		}
		return err
	}
	for _, w := range warnings {
		h.log.Warn(w)
	}
	return h.serve(ctx, stdout, stderr)
}
