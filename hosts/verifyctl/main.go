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

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/cli"
	"github.com/verifyd/verifyd/verification"
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
	code := run(ctx, os.Args[1:], session{
		getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		clock: clock.System(), server: postgresServer(),
	})
	stop()
	os.Exit(code)
}

// commands is the whole command line.
type commands struct {
	Apply    applyFile        `cmd:"" help:"Make everything as a bootstrap file says."`
	Migrate  migrateCommands  `cmd:"" help:"Work with the schema of the database."`
	Doctor   doctor           `cmd:"" help:"Look for what is wrong."`
	Host     hostCommands     `cmd:"" help:"Look at the hosts that are alive."`
	Tenant   tenantCommands   `cmd:"" help:"Work with tenants."`
	Account  accountCommands  `cmd:"" help:"Work with the accounts that call the API."`
	Workflow workflowCommands `cmd:"" help:"Work with workflow files, and with the workflows of a tenant."`
	Run      runCommands      `cmd:"" help:"Look at runs."`
	Webhook  webhookCommands  `cmd:"" help:"Work with lifecycle webhooks and their deliveries."`
	Token    tokenCommands    `cmd:"" help:"Make signing keys and dashboard tokens."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

const about = `The operator's tool of verifyd. It exits with 0 when all is well, 1 when what it looked at has faults, and 2 when the command could not be carried out.

Commands about what is kept work on PostgreSQL directly: set VERIFYD_DATABASE_URL. Hosts that serve meanwhile see every change at once.`

// session is what the Run method of a command gets, beside the context.
type session struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	clock  verification.Clock
	server server
}

// note tells what the operator should know besides.
func (s *session) note(line string) { fmt.Fprintln(s.stderr, "verifyctl:", line) }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, s session) int {
	helped := false
	parser, err := kong.New(&commands{},
		kong.Name("verifyctl"),
		kong.Description(about),
		kong.Vars{"version": "verifyctl " + cli.ReadBuild().String()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.ValueFormatter(withVariable),
		kong.Resolvers(environment(s.getenv)),
		kong.Writers(s.stdout, s.stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Exit(func(int) { helped = true }),
	)
	if err != nil {
		return fail(s.stderr, err)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitDone
	}
	if err != nil {
		return fail(s.stderr, fmt.Errorf("%w (see %s --help)", err, helpFor(err)))
	}
	err = command.Run(&s)
	switch {
	case errors.Is(err, errFaults):
		return exitFaults
	case err != nil:
		return fail(s.stderr, explained(err))
	}
	return exitDone
}

// helpFor returns the command line whose help explains err: that of the command
// as far as it was understood.
func helpFor(err error) string {
	words := []string{"verifyctl"}
	var parsing *kong.ParseError
	if errors.As(err, &parsing) {
		for _, step := range parsing.Context.Path {
			if step.Command != nil {
				words = append(words, step.Command.Name)
			}
		}
	}
	return strings.Join(words, " ")
}

// fail tells what went wrong, each error on one line.
func fail(stderr io.Writer, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "verifyctl:", line)
	}
	return exitUsage
}

// explained says why something is not there: an operator has no log to look at.
func explained(err error) error {
	var expected *verification.Error
	if errors.As(err, &expected) && errors.Is(expected.Kind, verification.ErrUnavailable) && expected.Cause != nil {
		return postgres.Explain(err)
	}
	return err
}
