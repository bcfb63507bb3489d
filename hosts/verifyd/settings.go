// The settings of the host: each an environment variable and a flag of the same name.

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/verification"
)

// settings are the flags of `verifyd serve`.
type settings struct {
	Addr            string        `default:"127.0.0.1:8080" help:"Where the API and the journey pages listen; port 0 picks a free one."`
	AdminAddr       string        `default:"127.0.0.1:8081" help:"Where /healthz, /readyz and /metrics listen."`
	PublicURL       string        `name:"public-url" placeholder:"URL" help:"Base of journey links (default: http://ADDR)."`
	DatabaseURL     string        `name:"database-url" placeholder:"URL" help:"PostgreSQL, as postgres://user:password@host:5432/name; any number of hosts may share it. Without one, everything is kept in memory. A flag shows in lists of processes: better set the variable."`
	DatabaseConns   int           `name:"database-conns" default:"16" help:"Connections to the database at most."`
	Migrate         string        `default:"auto" enum:"auto,never" help:"auto: bring the schema up at start, one host at a time. never: refuse to start on an older one."`
	Roles           []string      `default:"api,worker" enum:"api,worker" help:"What the host does: api answers requests, worker drives runs and sends webhooks."`
	Bootstrap       string        `placeholder:"FILE" help:"Tenants, accounts and workflows to apply at start. Without one, the built-in demo is served from memory; a database stays as it is."`
	SigningKeyFile  string        `placeholder:"FILE" help:"JWK set of private keys that signs journey links: the first key signs, all verify. Without one, hosts on a database share a set that is kept there; in memory a key is made at start."`
	StartWait       time.Duration `default:"2s" help:"Longest wait of a start for its run to need the customer or to end."`
	Workers         int           `default:"16" help:"Runs driven at once."`
	OIDCIssuer      string        `name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect issuer whose tokens reviewers may use, too."`
	OIDCAudience    string        `name:"oidc-audience" placeholder:"NAME" help:"Audience that its tokens must name."`
	OIDCTenant      string        `name:"oidc-tenant-claim" default:"tenant" help:"Claim with the id of the reviewer's tenant."`
	OIDCReviewer    string        `name:"oidc-reviewer-claim" default:"email" help:"Claim with the reviewer's name; sub where it is missing."`
	OIDCKeys        string        `name:"oidc-jwks-url" placeholder:"URL" help:"The issuer's keys, when its discovery document is not to be asked."`
	AllowPrivate    bool          `name:"allow-private-networks" help:"Let webhooks go to private and loopback addresses."`
	BlobDir         string        `placeholder:"DIR" help:"Folder that keeps uploaded documents; hosts that share a database must share it. Without one, they are kept in memory."`
	DocumentShare   int64         `name:"document-bytes-per-tenant" default:"0" help:"Bytes of uploaded documents that one tenant may hold. 0: a quarter of what memory takes, and no limit in a folder."`
	S3Endpoint      string        `name:"s3-endpoint" placeholder:"HOST" help:"S3 object store that keeps uploaded documents instead, reached over TLS."`
	S3Bucket        string        `name:"s3-bucket" placeholder:"NAME" help:"Its bucket, which must be there."`
	S3Region        string        `name:"s3-region" placeholder:"NAME" help:"Its region; without one, the object store is asked."`
	S3AccessKey     string        `name:"s3-access-key" placeholder:"KEY" help:"Access key; better set the variable."`
	S3SecretKey     string        `name:"s3-secret-key" placeholder:"KEY" help:"Secret key; better set the variable."`
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

// The roles of a host.
const (
	roleAPI    = "api"
	roleWorker = "worker"
)

// has tells whether the host has a role.
func (s settings) has(role string) bool { return slices.Contains(s.Roles, role) }

// isWhole tells whether the host needs no other.
func (s settings) isWhole() bool { return s.has(roleAPI) && s.has(roleWorker) }

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
	case s.DatabaseURL == "" && !s.isWhole():
		return errors.New("--roles (VERIFYD_ROLES): a host in memory must be both api and worker")
	case s.Clock == "manual" && !s.isWhole():
		return errors.New("--roles (VERIFYD_ROLES): a host with a manual clock must be both api and worker")
	case s.DatabaseConns < 4 || s.DatabaseConns > 1000:
		return errors.New("--database-conns (VERIFYD_DATABASE_CONNS): must be 4 to 1000")
	case (s.OIDCIssuer == "") != (s.OIDCAudience == ""):
		return errors.New("--oidc-issuer (VERIFYD_OIDC_ISSUER) and --oidc-audience (VERIFYD_OIDC_AUDIENCE) belong together")
	case s.BlobDir != "" && s.S3Endpoint != "":
		return errors.New("--blob-dir (VERIFYD_BLOB_DIR) and --s3-endpoint (VERIFYD_S3_ENDPOINT) exclude each other")
	case (s.S3Endpoint == "") != (s.S3Bucket == ""):
		return errors.New("--s3-endpoint (VERIFYD_S3_ENDPOINT) and --s3-bucket (VERIFYD_S3_BUCKET) belong together")
	case s.DocumentShare != 0 && s.DocumentShare < verification.MaxDocumentBytes+1<<20:
		return errors.New("--document-bytes-per-tenant (VERIFYD_DOCUMENT_BYTES_PER_TENANT): must be 0 or at least 11534336, for one document of 10 MiB")
	case s.DocumentShare != 0 && s.S3Endpoint != "":
		return errors.New("--document-bytes-per-tenant (VERIFYD_DOCUMENT_BYTES_PER_TENANT): is not counted in an object store; set a quota there")
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
