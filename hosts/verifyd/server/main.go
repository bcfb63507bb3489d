// Package server is the HTTP host: settings, bootstrap file, API, pages, metrics and
// an orderly stop.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
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
	context.AfterFunc(ctx, stop)                            // a second signal ends the process at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // or a log that nobody reads any more ends the process
	stderr := newLines(os.Stderr)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, stderr, options...)
	stop()
	failed := err != nil && !errors.Is(err, errPrinted)
	if failed {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintln(stderr, "verifyd: "+line)
		}
	}
	stderr.close()
	if failed {
		os.Exit(1)
	}
}

// run serves until ctx ends and the requests and runs in flight are done. If the
// host cannot start, the error has one line for each problem, followed by one for
// each warning.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer, options ...Option) error {
	env := newEnvironment(environ)
	settings, err := parse(args, env, stdout)
	switch {
	case errors.Is(err, errPrinted):
		return err
	case errors.Is(err, errHealth):
		return cmp.Or(askHealth(ctx, settings.AdminAddr, stdout), errPrinted)
	}
	var h *host
	if err == nil {
		h, err = newHost(ctx, settings, env, stderr, newAdditions(options))
	} else {
		err = withWarnings(err, slices.Concat(settings.warnings, env.unknown()))
	}
	if err != nil {
		return err
	}
	return h.serve(ctx, func() error { return h.announce(stdout, stderr) })
}

// newHost wires a host and logs the warnings about its settings. Its error is like that
// of run.
func newHost(ctx context.Context, s Settings, env *environment, stderr io.Writer, added additions) (*host, error) {
	h, warnings, err := wire(ctx, s, env, added, stderr)
	warnings = slices.Concat(warnings, s.warnings, env.unknown())
	if err != nil {
		return nil, withWarnings(err, warnings)
	}
	for _, w := range warnings {
		h.log.Warn(w)
	}
	return h, nil
}

func withWarnings(err error, warnings []string) error {
	for _, w := range warnings {
		err = errors.Join(err, errors.New("warning: "+w))
	}
	return err
}
