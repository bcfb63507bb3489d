// Command verifyctl is the operator's tool for verifyd.
package main

import (
	"cmp"
	"context"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // zones of tenants, where the system has none

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// The exit codes.
const (
	exitDone     = 0
	exitProblems = 1 // the command found problems in what it examined
	exitUsage    = 2 // the command failed
)

// errProblems is returned by a command that has printed the problems that it found.
var errProblems = errors.New("problems were found")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], session{
		getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		clock: clock.System{}, server: postgresServer(), operator: currentUser(), build: cli.ReadBuild(),
	})
	stop()
	os.Exit(code)
}

type commands struct {
	Apply     applyFile         `cmd:"" help:"Apply a bootstrap file." see:"bootstrap.md"`
	Migrate   migrateCommands   `cmd:"" help:"Migrate the schema of a PostgreSQL database."`
	Preflight preflight         `cmd:"" help:"Check what a host needs, before the first start and before an upgrade." see:"operations.md#before-a-start"`
	Doctor    doctor            `cmd:"" help:"Look for problems." see:"verifyctl.md#doctor"`
	Store     storeCommands     `cmd:"" help:"Back up, copy, examine and repair the data of hosts."`
	Host      hostCommands      `cmd:"" help:"Examine the hosts."`
	Tenant    tenantCommands    `cmd:"" help:"Examine tenants."`
	Account   accountCommands   `cmd:"" help:"Manage the accounts that call the API."`
	Workflow  workflowCommands  `cmd:"" help:"Check workflow files, and manage the workflows of a tenant."`
	Provider  providerCommands  `cmd:"" help:"Check and call the providers of a bootstrap file."`
	Run       runCommands       `cmd:"" help:"Examine and redact runs."`
	Person    personCommands    `cmd:"" help:"Export what is kept about a person."`
	Audit     auditCommands     `cmd:"" help:"Examine the audit trail."`
	Retention retentionCommands `cmd:"" help:"Examine what retention removes."`
	Report    reportCommands    `cmd:"" help:"Verify printed reports."`
	Screening screeningCommands `cmd:"" help:"Search and test lists, and compare names."`
	Webhook   webhookCommands   `cmd:"" help:"Manage lifecycle webhooks and their deliveries."`
	Reviewer  reviewerCommands  `cmd:"" help:"Sign reviewers out."`
	Token     tokenCommands     `cmd:"" help:"Create signing keys and reviewers' tokens."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

const about = `The operator's tool of verifyd. The exit code is 0 on success, 1 if the command found problems in what it examined, and 2 if the command failed.

Most commands work on the data of the hosts: set VERIFYD_DATA_DIR to the data folder of a host, VERIFYD_DATABASE_URL to the PostgreSQL database of the hosts, or VERIFYD_CONFIG to the file of their settings. Running hosts see every change at once.`

// session holds what the Run methods of commands share.
type session struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	binary io.Writer // stdout without the escapes of texts
	clock  verification.Clock
	server server
	// operator is who runs the command.
	operator verification.Person
	build    cli.Build
	// roots are the certificate authorities that preflight trusts; nil for those of the system.
	roots *x509.CertPool
	// hostWait is how long the host of a data folder may take to answer; 0 is the default.
	hostWait time.Duration
}

// currentUser returns the user of the process, as far as the operating system tells.
func currentUser() verification.Person {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return verification.Person{Name: "operator"}
	}
	return verification.Person{Name: u.Username, Identity: verification.IssuedIdentity("operator", u.Username)}
}

// operatorActor returns the actor of a user of verifyctl.
func operatorActor(p verification.Person) verification.Actor {
	return verification.Actor{Kind: verification.ActorOperator, ID: p.Name}
}

// settings returns what the file of settings of a host has, if the command line or VERIFYD_CONFIG names one.
func (s *session) settings(line *kong.Context) (map[string]definitions.Setting, error) {
	file := cli.ConfigFile(line, s.getenv)
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cli.Setting("config"), err)
	}
	return definitions.ReadSettings(file, raw)
}

// note prints additional information on stderr.
func (s *session) note(line string) { fmt.Fprintln(s.stderr, "verifyctl:", line) }

// run executes one command line and returns the exit code. Its output has no character
// that controls a terminal.
func run(ctx context.Context, args []string, s session) int {
	s.binary = s.stdout
	s.stdout, s.stderr = cli.Escaped(s.stdout), cli.Escaped(s.stderr)
	helped := false
	var file map[string]definitions.Setting
	parser, err := kong.New(&commands{},
		kong.Name("verifyctl"),
		kong.Description(about),
		kong.Vars{"version": "verifyctl " + cli.ReadBuild().String()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.ValueFormatter(withVariable),
		kong.Resolvers(cli.Resolver(func(flag *kong.Flag) string {
			name := flag.Tag.Get("variable")
			if name == "" {
				return ""
			}
			return cmp.Or(s.getenv(name), file[strings.ToLower(strings.TrimPrefix(name, "VERIFYD_"))].Text)
		})),
		kong.Writers(s.stdout, s.stderr),
		kong.BindTo(verification.WithActor(ctx, operatorActor(s.operator)), (*context.Context)(nil)),
		kong.Exit(func(int) { helped = true }),
	)
	if err != nil {
		return fail(s.stderr, err)
	}
	addDetails(parser.Model.Node)
	line, err := kong.Trace(parser, args)
	if err == nil {
		file, err = s.settings(line)
	}
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
	case errors.Is(err, errProblems):
		return exitProblems
	case err != nil:
		return fail(s.stderr, operatorError(err))
	}
	return exitDone
}

// help has the text below the usage of each command.
//
//go:embed help.txt
var help string

// addDetails adds the texts of help.txt to the commands.
func addDetails(root *kong.Node) {
	details := map[string]string{}
	for section := range strings.SplitSeq(help, "== verifyctl ") {
		command, text, _ := strings.Cut(section, "\n")
		details[command] = strings.TrimSpace(text)
	}
	for _, leaf := range root.Leaves(false) {
		leaf.Detail = details[leaf.Path()]
	}
}

// helpFor returns the command whose help explains err: the command line as far as it
// was parsed.
func helpFor(err error) string {
	words := []string{"verifyctl"}
	if parsing, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, step := range parsing.Context.Path {
			if step.Command != nil {
				words = append(words, step.Command.Name)
			}
		}
	}
	return strings.Join(words, " ")
}

// fail prints an error, each line with the name of the program.
func fail(stderr io.Writer, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "verifyctl:", line)
	}
	return exitUsage
}

// operatorError adds the cause to an error of the database, because there is no log
// that has it.
func operatorError(err error) error {
	if expected, ok := errors.AsType[*verification.Error](err); ok && errors.Is(expected.Kind, verification.ErrUnavailable) && expected.Cause != nil {
		return pgerror.Explain(err)
	}
	return err
}
