// The settings: each is a flag, an environment variable and a field of a file.

package server

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Settings are those of a host: what docs/settings.md calls --start-wait is StartWait here. [Load] reads them.
type Settings struct {
	Config              string        `placeholder:"FILE"`
	Addr                string        `default:"127.0.0.1:8080"`
	AdminAddr           string        `default:"127.0.0.1:8081"`
	PublicURL           string        `name:"public-url" placeholder:"URL"`
	HostName            string        `placeholder:"NAME"`
	DatabaseURL         string        `name:"database-url" placeholder:"URL" secret:""`
	DataDir             string        `name:"data-dir" placeholder:"DIR"`
	Memory              bool          `name:"memory"`
	DatabaseConns       int           `name:"database-conns" default:"16"`
	Migrate             string        `default:"auto"`
	Roles               []string      `default:"api,worker"`
	Bootstrap           string        `placeholder:"FILE"`
	SigningKeyFile      string        `placeholder:"FILE"`
	StartWait           time.Duration `default:"2s"`
	Workers             int           `default:"16"`
	Calls               int           `default:"1024"`
	ProviderWait        time.Duration `default:"1h"`
	ListBytes           int64         `default:"201326592"`
	StoreMemory         float64       `default:"0.5" placeholder:"SHARE"`
	KeepDeliveries      time.Duration `placeholder:"DURATION"`
	KeepMeasures        time.Duration `placeholder:"DURATION"`
	KeepAudit           time.Duration `placeholder:"DURATION"`
	KeepAuditReads      time.Duration `default:"9600h" placeholder:"DURATION"`
	RetentionGrace      time.Duration `default:"24h"`
	EraseWithin         time.Duration `default:"1h"`
	AcceptLedger        string        `placeholder:"NAME"`
	TenantShare         float64       `default:"0.25" placeholder:"PART"`
	OIDCIssuer          string        `name:"oidc-issuer" placeholder:"URL"`
	OIDCAudience        string        `name:"oidc-audience" placeholder:"NAME"`
	OIDCTenantClaim     string        `name:"oidc-tenant-claim" default:"tenant"`
	OIDCTenant          string        `name:"oidc-tenant" placeholder:"ID"`
	OIDCReviewer        string        `name:"oidc-reviewer-claim" default:"email"`
	OIDCSubject         string        `name:"oidc-subject-claim" placeholder:"NAME"`
	OIDCClientID        string        `name:"oidc-client-id" placeholder:"NAME"`
	OIDCSecret          string        `name:"oidc-client-secret" placeholder:"SECRET" secret:""`
	OIDCScopes          []string      `name:"oidc-scopes" default:"profile,email"`
	OIDCRolesClaim      string        `name:"oidc-roles-claim" placeholder:"NAME"`
	OIDCRoles           []string      `name:"oidc-roles" default:"viewer=viewer,reviewer=reviewer,admin=admin,auditor=auditor"`
	Teams               []string      `placeholder:"NAME"`
	ConsoleSession      time.Duration `name:"console-session" default:"8h"`
	OIDCKeys            string        `name:"oidc-jwks-url" placeholder:"URL"`
	AllowPrivate        bool          `name:"allow-private-networks"`
	SecretsDir          string        `placeholder:"DIR"`
	SearchKey           string        `placeholder:"SECRET" secret:""`
	SearchKeyFile       string        `placeholder:"FILE"`
	BlobDir             string        `placeholder:"DIR"`
	TenantDocumentBytes int64         `name:"document-bytes-per-tenant" default:"0"`
	DiskReserve         int64         `default:"0" placeholder:"BYTES"`
	S3Endpoint          string        `name:"s3-endpoint" placeholder:"HOST"`
	S3Bucket            string        `name:"s3-bucket" placeholder:"NAME"`
	S3Region            string        `name:"s3-region" placeholder:"NAME"`
	S3AccessKey         string        `name:"s3-access-key" placeholder:"KEY"`
	S3SecretKey         string        `name:"s3-secret-key" placeholder:"KEY" secret:""`
	S3Timeout           time.Duration `name:"s3-timeout" default:"10s"`
	RateLimit           int           `default:"0"`
	MaxConnections      int           `name:"max-connections" default:"0" placeholder:"N"`
	IdleTimeout         time.Duration `default:"2m"`
	ShutdownDelay       time.Duration `default:"0s"`
	ShutdownTimeout     time.Duration `default:"20s"`
	Clock               string        `default:"system"`
	FontDir             string        `placeholder:"DIR"`
	LogLevel            string        `default:"info"`
	LogLevelFile        string        `placeholder:"FILE"`
	LogFormat           string        `default:"text"`

	warnings []string
}

type commandLine struct {
	Version kong.VersionFlag `help:"Print the version and exit."`
	Serve   Settings         `cmd:"" default:"withargs" help:"Serve the API; by default a built-in demo, from the folder data."`
	Health  struct {
		AdminAddr string `default:"127.0.0.1:8081"`
	} `cmd:"" help:"Ask the host on this machine whether it runs; for the health check of a container."`
	Conf struct {
		Print  Settings `cmd:"" help:"Print the settings in force, as a file for --config, and where each comes from."`
		Schema struct{} `cmd:"" help:"Print the JSON Schema of a file for --config."`
	} `cmd:"" name:"config" help:"Print the settings."`
}

const about = `Runs verification workflows for tenants: checks, hosted customer steps, human review.

Every flag of serve is also an environment variable, and a field of the file of --config:
--public-url is VERIFYD_PUBLIC_URL and public_url. A flag comes before a variable, and that before the file.`

//go:embed settings.txt
var settingTexts string

// settingText is the help of one setting.
type settingText struct{ flag, markdown string }

// settingHelp returns the help of each setting, in the order of settings.txt.
func settingHelp() (all []settingText) {
	for _, section := range strings.Split(settingTexts, "\n== ")[1:] {
		flag, text, _ := strings.Cut(section, "\n")
		all = append(all, settingText{flag, strings.Join(strings.Fields(text), " ")})
	}
	return all
}

// errPrinted is returned after printing what was asked for: help, the version or settings.
var errPrinted = errors.New("printed")

// errHealth is returned for the command health.
var errHealth = errors.New("health requested")

// parse parses the command line, the environment and the file of settings. Its error has one line for each problem, with
// the name of the setting.
func parse(args []string, env *environment, stdout io.Writer) (s Settings, err error) {
	var given commandLine
	var p problems
	var file map[string]definitions.Setting
	help := map[string]string{}
	for _, h := range settingHelp() {
		help[h.flag] = h.markdown
	}
	parser, err := kong.New(&given, append(p.mappers(), kong.Name("verifyd"), kong.Description(about),
		kong.Vars{"version": "verifyd " + cli.ReadBuild().String()},
		kong.Writers(stdout, io.Discard), kong.UsageOnError(),
		kong.Exit(func(int) { panic(errPrinted) }),
		kong.Resolvers(cli.Resolver(func(flag *kong.Flag) string {
			text := env.vars[cli.Variable(flag.Name)]
			switch {
			case help[flag.Name] == "": // --help and --version
				return ""
			case text != "":
				return text
			}
			return p.inFile(flag, file)
		})),
	)...)
	if err != nil {
		return Settings{}, fmt.Errorf("read the settings: %w", err)
	}
	commands := []string{}
	markup := regexp.MustCompile("`|\\[([^]]*)\\]\\([^)]*\\)")
	for _, command := range parser.Model.Children {
		commands = append(commands, command.Name)
	}
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			flag.Help = markup.ReplaceAllString(help[flag.Name], "$1")
		}
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !slices.Contains(commands, args[0]) {
		return Settings{}, fmt.Errorf("unknown command %q%s", args[0],
			cmp.Or(suggestion(args[0], commands, func(name string) string { return name }), "; see verifyd --help"))
	}
	defer func() {
		if r := recover(); r == errPrinted { //nolint:errorlint // Exit panics with this value
			err = errPrinted
		} else if r != nil {
			panic(r)
		}
	}()
	traced, err := kong.Trace(parser, args)
	if err != nil {
		return Settings{}, err
	}
	file = env.readConfig(traced, &p)
	ctx, err := parser.Parse(args)
	if err != nil {
		return Settings{}, err
	}
	switch ctx.Command() {
	case "health":
		address(&p, "admin-addr", given.Health.AdminAddr)
		if err = p.err(); err == nil {
			err = errHealth
		}
		return Settings{AdminAddr: given.Health.AdminAddr}, err
	case "config schema":
		err = printSchema(stdout)
	case "config print":
		given.Conf.Print.check(&p)
		if err = p.err(); err == nil {
			err = printSettings(stdout, ctx, env, file)
		}
	default:
		given.Serve.check(&p)
		given.Serve.warnings = p.warnings
		return given.Serve, p.err()
	}
	if err == nil {
		err = errPrinted
	}
	return Settings{}, err
}

// The roles of a host.
const (
	roleAPI    = "api"
	roleWorker = "worker"
)

func (s Settings) has(role string) bool { return slices.Contains(s.Roles, role) }

func (s Settings) hasAllRoles() bool { return s.has(roleAPI) && s.has(roleWorker) }

// folder returns the data folder; empty for a host in memory or on a database.
func (s Settings) folder() datadir.Folder {
	if s.Memory || s.DatabaseURL != "" {
		return ""
	}
	return datadir.Folder(cmp.Or(s.DataDir, string(datadir.Default)))
}

// check records invalid values.
func (s Settings) check(p *problems) {
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
	for name, keep := range map[string]time.Duration{"keep-deliveries": s.KeepDeliveries, "keep-measures": s.KeepMeasures, "keep-audit": s.KeepAudit, "keep-audit-reads": s.KeepAuditReads} {
		if keep != 0 && keep < 24*time.Hour {
			p.add(name, "must be at least 24h")
		}
	}
	if s.RetentionGrace < 0 || s.RetentionGrace > 720*time.Hour {
		p.add("retention-grace", "must be 0s to 720h")
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

// checkMounted returns the problems of settings of a host on the server of a program.
func (s Settings) checkMounted() error {
	var p problems
	s.check(&p)
	if s.PublicURL == "" {
		p.add("public-url", "is required: the program has its own server")
	}
	if s.isDemo() {
		p.add("bootstrap", "is required without %s", cli.Setting("database-url"))
	}
	if !s.has(roleAPI) {
		p.add("roles", "must include api")
	}
	return p.err()
}

// maxShutdownDelay is more than any load balancer needs.
const maxShutdownDelay = 10 * time.Minute

// minListBytes is the lowest limit for lists: 1 MiB.
const minListBytes = 1 << 20

// minTenantDocumentBytes has room for the largest document and what is kept with it.
const minTenantDocumentBytes = verification.MaxDocumentBytes + 1<<20

func (s Settings) checkOIDC(p *problems) {
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
func (s Settings) teams() (names []string, byValue map[string]string, err error) {
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
func (s Settings) roles() (map[string]verification.Role, error) {
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
