// Verifyctl is the operator's tool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitDone   = 0
	exitFaults = 1 // what was looked at has faults
	exitUsage  = 2 // the command could not be carried out
)

// errFaults ends a command that has told the faults it found.
var errFaults = errors.New("faults were found")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// commands is the whole command line.
type commands struct {
	Workflow workflowCommands `cmd:"" help:"Work with workflow files."`
	Token    tokenCommands    `cmd:"" help:"Make signing keys and dashboard tokens."`
}

// session is what the Run method of a command gets, beside the context.
type session struct {
	stdout io.Writer
	stderr io.Writer
}

// run carries out one command line and returns the exit code. It is given the
// environment, as every host is; the commands about files do not look at it.
func run(ctx context.Context, args []string, _ func(string) string, stdout, stderr io.Writer) int {
	helped := false
	parser, err := kong.New(&commands{},
		kong.Name("verifyctl"),
		kong.Description("The operator's tool of verifyd. It exits with 0 when all is well, 1 when what it looked at has faults, and 2 when the command could not be carried out."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.Writers(stdout, stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Exit(func(int) { helped = true }),
	)
	if err != nil {
		return fail(stderr, err)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitDone
	}
	if err != nil {
		return fail(stderr, fmt.Errorf("%w (see verifyctl --help)", err))
	}
	err = command.Run(&session{stdout: stdout, stderr: stderr})
	switch {
	case errors.Is(err, errFaults):
		return exitFaults
	case err != nil:
		return fail(stderr, err)
	}
	return exitDone
}

// fail tells what went wrong, each error on one line.
func fail(stderr io.Writer, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "verifyctl:", line)
	}
	return exitUsage
}
