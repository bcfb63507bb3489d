// The settings of the host: each an environment variable and a flag of the same name.

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// settings are the flags of `verifyd serve`.
type settings struct {
	Addr            string        `default:"127.0.0.1:8080" help:"Where the API and the journey pages listen; port 0 picks a free one."`
	AdminAddr       string        `default:"127.0.0.1:8081" help:"Where /healthz, /readyz and /metrics listen."`
	PublicURL       string        `name:"public-url" placeholder:"URL" help:"Base of journey links (default: http://ADDR)."`
	DatabaseURL     string        `name:"database-url" placeholder:"URL" help:"PostgreSQL; this build serves from memory alone and refuses one."`
	Bootstrap       string        `placeholder:"FILE" help:"Tenants, accounts and workflows to apply at start. Without one, the built-in demo is served."`
	SigningKeyFile  string        `placeholder:"FILE" help:"JWK set of private keys that signs journey links: the first key signs, all verify. Without one, a key is made at start."`
	StartWait       time.Duration `default:"2s" help:"Longest wait of a start for its run to need the customer or to end."`
	Workers         int           `default:"16" help:"Runs driven at once."`
	AllowPrivate    bool          `name:"allow-private-networks" help:"Let webhooks go to private and loopback addresses."`
	BlobDir         string        `placeholder:"DIR" help:"Folder that keeps uploaded documents. Without one, they are kept in memory."`
	RateLimit       int           `default:"0" help:"Requests a second for one client-id; 0 means no limit."`
	ShutdownTimeout time.Duration `default:"20s" help:"How long requests and runs in flight may take to finish at a stop."`
	Clock           string        `default:"system" enum:"system,manual" help:"manual: time stands still until POST /clock/advance {\"seconds\": N} on ADMIN_ADDR."`
	FontDir         string        `placeholder:"DIR" help:"Folder of more fonts for reports, such as one for Chinese, Japanese and Korean."`
	LogLevel        string        `default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
	LogFormat       string        `default:"text" enum:"text,json" help:"text or json."`
}

// commandLine is what verifyd understands.
type commandLine struct {
	Serve settings `cmd:"" default:"withargs" help:"Serve the API. From memory, with a built-in demo, unless told otherwise."`
}

const about = `Runs verification journeys for tenants: checks, hosted customer steps, human review.

Every flag of serve is an environment variable too: --addr is VERIFYD_ADDR.`

// errHelp says that help was asked for and given.
var errHelp = errors.New("help was given")

// parse reads the command line and the environment. A fault is one line that
// names the setting.
func parse(args []string, getenv func(string) string, stdout io.Writer) (s settings, err error) {
	var cli commandLine
	parser, err := kong.New(&cli, kong.Name("verifyd"), kong.Description(about),
		kong.Writers(stdout, io.Discard), kong.UsageOnError(),
		kong.Exit(func(int) { panic(errHelp) }),
		kong.Resolvers(environment(getenv)),
	)
	if err != nil {
		return settings{}, fmt.Errorf("read the settings: %w", err)
	}
	defer func() {
		if p := recover(); p == errHelp { //nolint:errorlint // it is the very value that Exit panics with
			err = errHelp
		} else if p != nil {
			panic(p)
		}
	}()
	if _, err := parser.Parse(args); err != nil {
		return settings{}, err
	}
	return cli.Serve, cli.Serve.check()
}

// environment resolves a flag by the variable of its name.
func environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if v := getenv(variable(flag.Name)); v != "" {
			return v, nil
		}
		return nil, nil //nolint:nilnil // kong's way to say that there is none
	})
}

func variable(flag string) string {
	return "VERIFYD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// check refuses values that cannot work, by name.
func (s settings) check() error {
	for name, addr := range map[string]string{"addr": s.Addr, "admin-addr": s.AdminAddr} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("--%s (%s): %q is not HOST:PORT", name, variable(name), addr)
		}
	}
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("--public-url (VERIFYD_PUBLIC_URL): %q is not an absolute http(s) URL", s.PublicURL)
		}
	}
	switch {
	case s.DatabaseURL != "":
		return errors.New("--database-url (VERIFYD_DATABASE_URL): this build serves from memory alone; leave it empty")
	case s.StartWait < 0 || s.StartWait > 25*time.Second:
		return errors.New("--start-wait (VERIFYD_START_WAIT): must be 0s to 25s")
	case s.Workers < 1 || s.Workers > 10000:
		return errors.New("--workers (VERIFYD_WORKERS): must be 1 to 10000")
	case s.RateLimit < 0:
		return errors.New("--rate-limit (VERIFYD_RATE_LIMIT): must be at least 0")
	case s.ShutdownTimeout < 0:
		return errors.New("--shutdown-timeout (VERIFYD_SHUTDOWN_TIMEOUT): must be at least 0s")
	}
	return nil
}
