// The settings: each is a flag and an environment variable.

package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// settings are the flags of `verifyd serve`.
type settings struct {
	Addr                string        `default:"127.0.0.1:8080" help:"Address of the API, the journey pages and the console; port 0 picks a free port."`
	AdminAddr           string        `default:"127.0.0.1:8081" help:"Address of /healthz, /readyz and /metrics."`
	PublicURL           string        `name:"public-url" placeholder:"URL" help:"Base URL of journey links, callbacks and the console (default: http://ADDR)."`
	HostName            string        `placeholder:"NAME" help:"Name of this host in the list of hosts (default: the name of the machine)."`
	DatabaseURL         string        `name:"database-url" placeholder:"URL" help:"PostgreSQL, as postgres://user:password@host:5432/name; any number of hosts may share it. Without it, the host keeps its data in a folder. Use the variable: flags are visible in process lists."`
	DataDir             string        `name:"data-dir" placeholder:"DIR" help:"Folder of a host without a database: its journal, uploads, keys and generated secrets. One host at a time uses it (default: data)."`
	Memory              bool          `name:"memory" help:"Keep everything in memory, and lose it when the host ends; for tests."`
	DatabaseConns       int           `name:"database-conns" default:"16" help:"Maximum number of connections to the database."`
	Migrate             string        `default:"auto" help:"auto: migrate the schema at start, one host at a time. never: refuse to start on an older schema."`
	Roles               []string      `default:"api,worker" help:"Roles of the host: api serves requests, worker executes runs and sends webhooks."`
	Bootstrap           string        `placeholder:"FILE" help:"File of tenants, accounts and workflows to apply at start. Without it, a host without a database serves the built-in demo, and a database stays unchanged."`
	SigningKeyFile      string        `placeholder:"FILE" help:"JWK set of private keys for journey links and tokens: the first key signs, all verify. Without it, hosts share a set in the database, a host without a database makes a key in its folder, and a host in memory makes one at each start."`
	StartWait           time.Duration `default:"2s" help:"Maximum time that a start waits for its run to need the customer or to end."`
	Workers             int           `default:"16" help:"Maximum number of runs executed at once."`
	Calls               int           `default:"1024" help:"Maximum number of provider calls in flight; one provider may use half of them, one tenant a quarter."`
	ProviderWait        time.Duration `default:"1h" help:"How long a run waits for a host that has the provider or the list of its next check; after that the check is unavailable."`
	ListBytes           int64         `default:"201326592" help:"Maximum memory of all lists together, in bytes; a list that exceeds it is refused. A host needs about six times as much while it loads a list again. 0 means no limit."`
	StoreMemory         float64       `default:"0.5" placeholder:"SHARE" help:"Share of the memory limit (GOMEMLIMIT, the limit of the container, or the memory of the machine) that the runs of a host without a database may need. Beyond it, new runs get 503, and runs that exist go on. 0 means no limit."`
	KeepDeliveries      time.Duration `placeholder:"DURATION" help:"How long the ledger of webhooks is kept after the last attempt, at least 24h (default: for good)."`
	KeepMeasures        time.Duration `placeholder:"DURATION" help:"How long the numbers of a day are kept, at least 24h (default: for good)."`
	KeepAudit           time.Duration `placeholder:"DURATION" help:"How long the audit trail is kept, at least 24h (default: for good)."`
	EraseWithin         time.Duration `default:"1h" help:"How soon after a redaction its data goes out of old files and dead rows: a host with a data folder writes a snapshot, and a worker on PostgreSQL vacuums within a quarter of it; 1m to 24h."`
	TenantShare         float64       `default:"0.25" placeholder:"PART" help:"Part of what other tenants leave that one tenant may have: of the memory and the disk of runs on a host without a database, and of the space for uploads in a folder or in memory. A tenant that is alone may have all. 1 means no limit."`
	OIDCIssuer          string        `name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect issuer of reviewers: with a client id they sign in to the console there, with an audience the signals route also accepts its tokens."`
	OIDCAudience        string        `name:"oidc-audience" placeholder:"NAME" help:"Audience that tokens of the issuer must have on the signals route; without it the route accepts none."`
	OIDCTenantClaim     string        `name:"oidc-tenant-claim" default:"tenant" help:"Claim with the id of the reviewer's tenant."`
	OIDCTenant          string        `name:"oidc-tenant" placeholder:"ID" help:"Id of the tenant of all reviewers of the issuer, for a company with one tenant: tokens need no claim then, and a token with another tenant is refused."`
	OIDCReviewer        string        `name:"oidc-reviewer-claim" default:"email" help:"Claim with the reviewer's name, which others see; without it the name is the subject."`
	OIDCSubject         string        `name:"oidc-subject-claim" placeholder:"NAME" help:"Claim that identifies a reviewer, the same in every token of the person: oid for Entra ID; without it sub. Required if an audience and a client id are set and differ."`
	OIDCClientID        string        `name:"oidc-client-id" placeholder:"NAME" help:"Client id of the console at the issuer; with it, reviewers sign in to the console there."`
	OIDCSecret          string        `name:"oidc-client-secret" placeholder:"SECRET" help:"Client secret of the console; use the variable. Without it the console is a public client."`
	OIDCScopes          []string      `name:"oidc-scopes" default:"profile,email" help:"Scopes that a sign-in requests beside openid."`
	OIDCRolesClaim      string        `name:"oidc-roles-claim" placeholder:"NAME" help:"Claim with the reviewer's roles, such as roles, groups or realm_access.roles; required with the client id. Without it, every reviewer has the role reviewer."`
	OIDCRoles           []string      `name:"oidc-roles" default:"viewer=viewer,reviewer=reviewer,admin=admin,auditor=auditor" help:"Roles by the values of the claim, as VALUE=ROLE."`
	Teams               []string      `placeholder:"NAME" help:"Teams that runs of the review queue are assigned and escalated to, as TEAM, or as VALUE=TEAM if the roles claim has another value for it."`
	ConsoleSession      time.Duration `name:"console-session" default:"8h" help:"How long a session of the console lasts after a sign-in at the issuer."`
	OIDCKeys            string        `name:"oidc-jwks-url" placeholder:"URL" help:"URL of the issuer's keys, in place of its discovery document."`
	AllowPrivate        bool          `name:"allow-private-networks" help:"Allow webhooks and providers to call private and loopback addresses, and any port."`
	SecretsDir          string        `placeholder:"DIR" help:"Folder with the secrets of providers, one file per secret, beside the variables VERIFYD_SECRET_NAME."`
	SearchKey           string        `placeholder:"SECRET" help:"Key of the hashes by which the console finds the runs of a person, at least 32 bytes, the same on all hosts and never changed; use the variable. Without it no run on a database is found by a person; a host without a database makes a key in its folder, and a host in memory makes one at each start."`
	SearchKeyFile       string        `placeholder:"FILE" help:"File with the search key, in place of --search-key."`
	BlobDir             string        `placeholder:"DIR" help:"Folder of uploaded documents; hosts that share a database must share it. Without it, documents are in the data folder, or in memory if there is none."`
	TenantDocumentBytes int64         `name:"document-bytes-per-tenant" default:"0" help:"Maximum bytes of uploaded documents per tenant. 0: a quarter of the limit in memory, half of the disk in a folder."`
	DiskReserve         int64         `default:"0" placeholder:"BYTES" help:"Free bytes of the disk of a data folder, or of the folder of documents, below which new runs and uploads get 503, and runs that exist go on. 0: 5 percent of the disk, at least 1 GiB and at most 20 GiB."`
	S3Endpoint          string        `name:"s3-endpoint" placeholder:"HOST" help:"S3 object store for uploaded documents in place of a folder, over TLS."`
	S3Bucket            string        `name:"s3-bucket" placeholder:"NAME" help:"Bucket of the object store, which must exist."`
	S3Region            string        `name:"s3-region" placeholder:"NAME" help:"Region of the bucket (default: ask the object store)."`
	S3AccessKey         string        `name:"s3-access-key" placeholder:"KEY" help:"Access key of the object store; use the variable."`
	S3SecretKey         string        `name:"s3-secret-key" placeholder:"KEY" help:"Secret key of the object store; use the variable."`
	S3Timeout           time.Duration `name:"s3-timeout" default:"10s" help:"Maximum time of a call of the object store, 1s to 1m. A customer whose upload takes longer is asked to try again."`
	RateLimit           int           `default:"0" help:"Maximum requests per second of one client-id or reviewer; 0 means no limit."`
	MaxConnections      int           `name:"max-connections" default:"0" placeholder:"N" help:"Maximum number of connections to ADDR; beyond it idle ones are closed, and others get 503. 0: half of the files that the process may open."`
	IdleTimeout         time.Duration `default:"2m" help:"Maximum time that a connection waits for its next request; longer than the load balancer keeps it."`
	ShutdownDelay       time.Duration `default:"0s" help:"How long a stop begins with /readyz at 503 while requests are still served, so that load balancers notice; 5s behind one."`
	ShutdownTimeout     time.Duration `default:"20s" help:"Maximum time for requests and runs in flight to finish at a stop."`
	Clock               string        `default:"system" help:"system or manual. A manual clock advances only with POST /clock/advance {\"seconds\": N} on ADMIN_ADDR."`
	FontDir             string        `placeholder:"DIR" help:"Folder of additional fonts for reports; the log says at the start which scripts reports print. The package fonts-noto-cjk is used if installed."`
	LogLevel            string        `default:"info" help:"debug, info, warn or error."`
	LogLevelFile        string        `placeholder:"FILE" help:"File with the log level, in place of --log-level; a host reads it again on SIGHUP."`
	LogFormat           string        `default:"text" help:"text or json."`
}

type commandLine struct {
	Version kong.VersionFlag `help:"Print the version and exit."`
	Serve   settings         `cmd:"" default:"withargs" help:"Serve the API; by default a built-in demo, from the folder data."`
}

const about = `Runs verification workflows for tenants: checks, hosted customer steps, human review.

Every flag of serve is also an environment variable: --addr is VERIFYD_ADDR.`

// errHelp is returned after printing help or the version.
var errHelp = errors.New("help requested")

// parse parses the command line and the environment, of a host that is mounted on the
// server of a program or has its own. Its error has one line for each problem, with the
// name of the setting.
func parse(args []string, env *environment, mounted bool, stdout io.Writer) (s settings, err error) {
	var given commandLine
	var p problems
	parser, err := kong.New(&given, append(p.mappers(), kong.Name("verifyd"), kong.Description(about),
		kong.Vars{"version": "verifyd " + cli.ReadBuild().String()},
		kong.Writers(stdout, io.Discard), kong.UsageOnError(),
		kong.Exit(func(int) { panic(errHelp) }),
		kong.Resolvers(cli.Resolver(env.resolve)),
	)...)
	if err != nil {
		return settings{}, fmt.Errorf("read the settings: %w", err)
	}
	commands := []string{}
	for _, command := range parser.Model.Children {
		commands = append(commands, command.Name)
		for _, flag := range command.Flags {
			env.flags = append(env.flags, flag.Name)
		}
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !slices.Contains(commands, args[0]) {
		return settings{}, fmt.Errorf("unknown command %q%s", args[0],
			cmp.Or(suggestion(args[0], commands, func(name string) string { return name }), "; see verifyd --help"))
	}
	defer func() {
		if r := recover(); r == errHelp { //nolint:errorlint // Exit panics with this value
			err = errHelp
		} else if r != nil {
			panic(r)
		}
	}()
	if _, err := parser.Parse(args); err != nil {
		return settings{}, err
	}
	given.Serve.check(&p)
	if mounted {
		given.Serve.checkMounted(&p)
	}
	return given.Serve, p.err()
}

// resolve returns the value of the variable of a setting, or "" if it is not set.
func (e *environment) resolve(flag *kong.Flag) string {
	if !slices.Contains(e.flags, flag.Name) {
		return ""
	}
	return e.vars[cli.Variable(flag.Name)]
}

// The roles of a host.
const (
	roleAPI    = "api"
	roleWorker = "worker"
)

func (s settings) has(role string) bool { return slices.Contains(s.Roles, role) }

func (s settings) hasAllRoles() bool { return s.has(roleAPI) && s.has(roleWorker) }

// folder returns the data folder; empty for a host in memory or on a database.
func (s settings) folder() datadir.Folder {
	if s.Memory || s.DatabaseURL != "" {
		return ""
	}
	return datadir.Folder(cmp.Or(s.DataDir, string(datadir.Default)))
}

// check records invalid values.
func (s settings) check(p *problems) {
	address(p, "addr", s.Addr)
	address(p, "admin-addr", s.AdminAddr)
	if s.PublicURL != "" {
		p.wrap("public-url", cli.CheckPublicURL(s.PublicURL))
	}
	oneOf(p, "migrate", s.Migrate, "auto", "never")
	for _, role := range s.Roles {
		oneOf(p, "roles", role, roleAPI, roleWorker)
	}
	switch {
	case len(s.Roles) == 0:
		p.add("roles", "must be api, worker or both")
	case s.DatabaseURL == "" && !s.hasAllRoles():
		p.add("roles", "a host without a database must be both api and worker")
	case s.Clock == "manual" && !s.hasAllRoles():
		p.add("roles", "a host with a manual clock must be both api and worker")
	}
	alone(p, "data-dir", s.DataDir != "", "database-url", s.DatabaseURL != "")
	alone(p, "data-dir", s.DataDir != "", "memory", s.Memory)
	alone(p, "memory", s.Memory, "database-url", s.DatabaseURL != "")
	between(p, "database-conns", s.DatabaseConns, 4, 1000)
	if s.StartWait < 0 || s.StartWait > 25*time.Second {
		p.add("start-wait", "must be 0s to 25s")
	}
	between(p, "workers", s.Workers, 1, 10000)
	between(p, "calls", s.Calls, 1, 100000)
	if s.ProviderWait < 0 {
		p.add("provider-wait", "must be at least 0s")
	}
	if s.ListBytes != 0 && s.ListBytes < minListBytes {
		p.add("list-bytes", "must be 0 or at least %d", minListBytes)
	}
	if !(s.StoreMemory >= 0 && s.StoreMemory <= 1) {
		p.add("store-memory", "must be 0 to 1")
	}
	for name, keep := range map[string]time.Duration{"keep-deliveries": s.KeepDeliveries, "keep-measures": s.KeepMeasures, "keep-audit": s.KeepAudit} {
		if keep != 0 && keep < 24*time.Hour {
			p.add(name, "must be at least 24h")
		}
	}
	if s.EraseWithin < time.Minute || s.EraseWithin > 24*time.Hour {
		p.add("erase-within", "must be 1m to 24h")
	}
	if !(s.TenantShare > 0 && s.TenantShare <= 1) {
		p.add("tenant-share", "must be above 0 and at most 1")
	}
	s.checkOIDC(p)
	if s.ConsoleSession < time.Minute || s.ConsoleSession > 7*24*time.Hour {
		p.add("console-session", "must be 1m to 168h")
	}
	if s.SearchKey != "" {
		checkSearchKey(p, "search-key", s.SearchKey)
	}
	alone(p, "search-key-file", s.SearchKeyFile != "", "search-key", s.SearchKey != "")
	alone(p, "blob-dir", s.BlobDir != "", "s3-endpoint", s.S3Endpoint != "")
	together(p, "s3-endpoint", s.S3Endpoint, "s3-bucket", s.S3Bucket)
	switch {
	case s.TenantDocumentBytes != 0 && s.TenantDocumentBytes < minTenantDocumentBytes:
		p.add("document-bytes-per-tenant", "must be 0 or at least %d, for one document of 10 MiB", minTenantDocumentBytes)
	case s.TenantDocumentBytes != 0 && s.S3Endpoint != "":
		p.add("document-bytes-per-tenant", "does not apply to an object store; set a quota there")
	}
	if s.DiskReserve != 0 && s.DiskReserve < minDiskReserve {
		p.add("disk-reserve", "must be 0 or at least %d, for two segments of the journal", minDiskReserve)
	}
	if s.RateLimit < 0 {
		p.add("rate-limit", "must be at least 0")
	}
	if s.MaxConnections < 0 {
		p.add("max-connections", "must be at least 0")
	}
	if s.IdleTimeout < time.Second {
		p.add("idle-timeout", "must be at least 1s")
	}
	if s.ShutdownDelay < 0 || s.ShutdownDelay > maxShutdownDelay {
		p.add("shutdown-delay", "must be 0s to %s", maxShutdownDelay)
	}
	if s.S3Timeout < time.Second || s.S3Timeout > time.Minute {
		p.add("s3-timeout", "must be 1s to 1m")
	}
	if s.ShutdownTimeout < 0 {
		p.add("shutdown-timeout", "must be at least 0s")
	}
	oneOf(p, "clock", s.Clock, "system", "manual")
	oneOf(p, "log-level", s.LogLevel, logLevels()...)
	oneOf(p, "log-format", s.LogFormat, "text", "json")
}

// checkMounted records settings that a host on the server of a program cannot have.
func (s settings) checkMounted(p *problems) {
	if s.PublicURL == "" {
		p.add("public-url", "is required: the program has its own server")
	}
	if s.isDemo() {
		p.add("bootstrap", "is required without %s", cli.Setting("database-url"))
	}
	if !s.has(roleAPI) {
		p.add("roles", "must include api")
	}
}

// maxShutdownDelay is more than any load balancer needs.
const maxShutdownDelay = 10 * time.Minute

// minListBytes is the lowest limit for lists: 1 MiB.
const minListBytes = 1 << 20

// minTenantDocumentBytes has room for the largest document and what is kept with it.
const minTenantDocumentBytes = verification.MaxDocumentBytes + 1<<20

func (s settings) checkOIDC(p *problems) {
	if s.OIDCIssuer == "" {
		for _, flag := range []struct{ name, value string }{{"oidc-audience", s.OIDCAudience}, {"oidc-client-id", s.OIDCClientID}, {"oidc-tenant", s.OIDCTenant}} {
			if flag.value != "" {
				p.add(flag.name, "also needs %s", cli.Setting("oidc-issuer"))
			}
		}
	} else if s.OIDCAudience == "" && s.OIDCClientID == "" {
		p.add("oidc-issuer", "also needs %s or %s", cli.Setting("oidc-client-id"), cli.Setting("oidc-audience"))
	}
	if s.OIDCClientID != "" && s.OIDCRolesClaim == "" {
		p.add("oidc-client-id", "also needs %s", cli.Setting("oidc-roles-claim"))
	}
	if s.OIDCSubject == "" && s.OIDCClientID != "" && s.OIDCAudience != "" && s.OIDCClientID != s.OIDCAudience {
		p.add("oidc-subject-claim", "is required if %s and %s differ: name the claim that is the same in the tokens of both, oid for Entra ID, sub for most others",
			cli.Setting("oidc-client-id"), cli.Setting("oidc-audience"))
	}
	if _, err := verification.ParseTenantID(s.OIDCTenant); s.OIDCTenant != "" && err != nil {
		p.add("oidc-tenant", "must be the id of a tenant, a UUID")
	}
	if s.OIDCSecret != "" && s.OIDCClientID == "" {
		p.add("oidc-client-secret", "also needs %s", cli.Setting("oidc-client-id"))
	}
	if _, _, err := s.teams(); err != nil {
		p.add("teams", "%w", err)
	}
	if _, err := s.roles(); err != nil {
		p.add("oidc-roles", "%w", err)
	}
}

// maxTeams bounds the teams that a reviewer chooses from.
const maxTeams = 50

// teams returns the names of the teams, in order, and the team for each value of the roles
// claim.
func (s settings) teams() (names []string, byValue map[string]string, err error) {
	byValue = map[string]string{}
	for _, pair := range s.Teams {
		value, team := pair, pair
		if i := strings.LastIndex(pair, "="); i >= 0 {
			value, team = pair[:i], pair[i+1:]
		}
		if rules.ValidateTeam(team) != nil || value == "" {
			return nil, nil, fmt.Errorf("%q is not TEAM or VALUE=TEAM; a team has 1 to %d printable characters", pair, rules.MaxTeamName)
		}
		if byValue[value] = team; !slices.Contains(names, team) {
			names = append(names, team)
		}
	}
	if len(names) > maxTeams {
		return nil, nil, fmt.Errorf("must be at most %d teams", maxTeams)
	}
	return names, byValue, nil
}

// roles returns the role for each value of the roles claim.
func (s settings) roles() (map[string]verification.Role, error) {
	roles := map[string]verification.Role{}
	for _, pair := range s.OIDCRoles {
		i := strings.LastIndex(pair, "=") // a value may contain one
		if i <= 0 {
			return nil, fmt.Errorf("%q is not VALUE=ROLE", pair)
		}
		role, err := verification.ParseRole(pair[i+1:])
		if err != nil {
			return nil, err
		}
		roles[pair[:i]] = role
	}
	return roles, nil
}

func address(p *problems, flag, addr string) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		p.add(flag, "%q is not HOST:PORT", addr)
	}
}

func between(p *problems, flag string, n, low, high int) {
	if n < low || n > high {
		p.add(flag, "must be %d to %d, not %d", low, high, n)
	}
}

func oneOf(p *problems, flag, value string, values ...string) {
	if !slices.Contains(values, value) {
		last := len(values) - 1
		p.add(flag, "must be %s or %s, not %q", strings.Join(values[:last], ", "), values[last], value)
	}
}

// alone records a problem of setting a if both settings are given.
func alone(p *problems, flagA string, givenA bool, flagB string, givenB bool) {
	if givenA && givenB {
		p.add(flagA, "must not be given together with %s", cli.Setting(flagB))
	}
}

// together records a problem if only one of two settings is given.
func together(p *problems, flagA, valueA, flagB, valueB string) {
	switch {
	case valueA != "" && valueB == "":
		p.add(flagA, "also needs %s", cli.Setting(flagB))
	case valueA == "" && valueB != "":
		p.add(flagB, "also needs %s", cli.Setting(flagA))
	}
}
