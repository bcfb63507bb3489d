// The command that checks what a host needs before it starts.

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type preflight struct {
	Config string `placeholder:"FILE" variable:"VERIFYD_CONFIG" help:"File of the settings of the host."`
	databaseFlag
	bootstrapFlag
	secretsFlag
	hostFlags
	jsonFlag
}

// hostFlags are flags of verifyd serve, with the same names and defaults.
type hostFlags struct {
	Memory         bool          `hidden:"" variable:"VERIFYD_MEMORY"`
	DatabaseConns  int           `hidden:"" variable:"VERIFYD_DATABASE_CONNS" default:"16"`
	Migrate        string        `hidden:"" variable:"VERIFYD_MIGRATE" default:"auto" enum:"auto,never"`
	PublicURL      string        `hidden:"" variable:"VERIFYD_PUBLIC_URL" name:"public-url"`
	SigningKeyFile string        `hidden:"" variable:"VERIFYD_SIGNING_KEY_FILE"`
	SearchKey      string        `hidden:"" variable:"VERIFYD_SEARCH_KEY"`
	SearchKeyFile  string        `hidden:"" variable:"VERIFYD_SEARCH_KEY_FILE"`
	ListBytes      int64         `hidden:"" variable:"VERIFYD_LIST_BYTES" default:"201326592"`
	DiskReserve    int64         `hidden:"" variable:"VERIFYD_DISK_RESERVE" default:"0"`
	AllowPrivate   bool          `hidden:"" variable:"VERIFYD_ALLOW_PRIVATE_NETWORKS" name:"allow-private-networks"`
	OIDCIssuer     string        `hidden:"" variable:"VERIFYD_OIDC_ISSUER" name:"oidc-issuer"`
	OIDCKeys       string        `hidden:"" variable:"VERIFYD_OIDC_JWKS_URL" name:"oidc-jwks-url"`
	BlobDir        string        `hidden:"" variable:"VERIFYD_BLOB_DIR"`
	S3Endpoint     string        `hidden:"" variable:"VERIFYD_S3_ENDPOINT" name:"s3-endpoint"`
	S3Bucket       string        `hidden:"" variable:"VERIFYD_S3_BUCKET" name:"s3-bucket"`
	S3Region       string        `hidden:"" variable:"VERIFYD_S3_REGION" name:"s3-region"`
	S3AccessKey    string        `hidden:"" variable:"VERIFYD_S3_ACCESS_KEY" name:"s3-access-key"`
	S3SecretKey    string        `hidden:"" variable:"VERIFYD_S3_SECRET_KEY" name:"s3-secret-key"`
	S3Timeout      time.Duration `hidden:"" variable:"VERIFYD_S3_TIMEOUT" name:"s3-timeout" default:"10s"`
}

// Run prints the findings. It changes nothing: a file or an object that it writes as a test is removed at once.
func (c preflight) Run(ctx context.Context, s *session) error {
	if c.DataDir != "" && c.DatabaseURL != "" {
		return c.check()
	}
	found := []finding{
		ok("version", "verifyctl "+s.build.String()),
		judged("user", os.Geteuid() != 0, "not root", healthWarn, "root can read and write what the user of the host may not",
			"run this command as the user of the host"),
		ok("settings", "of "+cmp.Or(c.Config, "no file")+", variables and flags; verifyd config print checks whether they fit together"),
	}
	clock := ok("clock", "not compared: there is no database with a clock")
	has := held{close: func() error { return nil }}
	var more []finding
	switch {
	case c.DatabaseURL != "":
		more, has = c.database(ctx, s)
		clock = finding{}
	case c.Memory:
		more = []finding{ok("store", "nothing is kept, because of --memory")}
	default:
		c.DataDir = cmp.Or(c.DataDir, datadir.Default)
		more, has = c.folder(ctx)
	}
	defer func() { _ = has.close() }() // it was only read
	if found = append(found, more...); clock.Check != "" {
		found = append(found, clock)
	}
	found = append(append(found, c.uploads(ctx, s, has)...), c.keys(len(has.tenants(ctx)) > 0)...)
	file, made, more := c.file(ctx, s, has)
	found = append(append(found, more...), c.lists(ctx, s, file.Lists)...)
	found = append(found, s.reach(ctx, append(vendors(file, made), c.receivers(ctx, s, file, has)...))...)
	return s.report(ctx, append(append(found, c.issuer(ctx, s)...), c.public(ctx, s, has.live)), c.JSON)
}

// held is what a host keeps.
type held struct {
	store store.Store // nil if it cannot be read, or does not exist yet
	live  bool        // a host runs on it
	close func() error
}

func (h held) tenants(ctx context.Context) (all []verification.Tenant) {
	if h.store != nil {
		all, _ = store.Tables{RowStore: h.store}.Tenants(ctx) // it was read before
	}
	return all
}

// checked returns a failed finding for an error.
func checked(check string, err error, fine, advice string) finding {
	if err != nil {
		return failed(check, pgerror.Explain(err).Error(), advice)
	}
	return ok(check, fine)
}

// keys examines the signing keys and the search key. used says that the folder has data, which needs its keys.
func (c preflight) keys(used bool) []finding {
	var signing, search string // in the folder
	if c.DataDir != "" {
		signing, search = c.DataDir.SigningKeys(), c.DataDir.SearchKey()
	}
	long := func(key []byte) error {
		if n := len(bytes.TrimRight(key, "\r\n")); n < cli.MinSearchKey {
			return fmt.Errorf("has %d bytes and must have at least %d", n, cli.MinSearchKey)
		}
		return nil
	}
	valid := func(raw []byte) error { _, err := token.ReadKeys(raw); return err }
	keys := secretFile("signing keys", "no file is set: the store has them", c.SigningKeyFile, signing, used, valid)
	if c.SearchKey != "" {
		return []finding{keys, checked("search key", long([]byte(c.SearchKey)), "is long enough", "openssl rand -base64 32 makes a key")}
	}
	return []finding{keys, secretFile("search key", "there is none, so the console finds no run by a person", c.SearchKeyFile, search, used, long)}
}

// secretFile examines the file that a setting names, or the one in the folder, which the first start makes. Without either, none is said.
func secretFile(check, none, given, kept string, used bool, read func([]byte) error) finding {
	file := cmp.Or(given, kept)
	if file == "" {
		return ok(check, none)
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && given == "" && !used {
		return ok(check, "the first start makes "+file)
	}
	if err == nil {
		err = read(raw)
	}
	if info, failure := os.Stat(file); err == nil && failure == nil && info.Mode().Perm()&0o004 != 0 {
		return warning(check, "everyone on this machine can read "+file, "chmod 600 "+file)
	}
	return checked(check, err, file+" is valid", "let the user of the host read "+file+", or restore it from a backup: no host starts without it")
}

// file reads the bootstrap file, makes its providers, and applies it to the store without saving anything.
func (c preflight) file(ctx context.Context, s *session, has held) (b definitions.Bootstrap, made bootstrap.Providers, found []finding) {
	const check = "bootstrap"
	if c.Bootstrap == "" {
		return b, made, []finding{ok(check, "there is no file: a host without a database serves the demo")}
	}
	o := rest.Options{AllowPrivateNetworks: c.AllowPrivate}
	raw, err := os.ReadFile(c.Bootstrap)
	if err == nil {
		b, err = bootstrap.Read(ctx, c.Bootstrap, raw, os.ReadFile, s.getenv)
	}
	if err == nil {
		o.Secret, err = cli.Secrets(s.getenv, c.SecretsDir)
	}
	if err == nil {
		made, err = s.providersBeside(b, sandboxes(), o)
	}
	if err == nil {
		if has.store == nil {
			has.store = memory.New()
		}
		e, failure := s.engine(&database{Store: has.store}, made)
		if err = failure; err == nil {
			_, err = bootstrap.Apply(ctx, b, e, has.store, bootstrap.Options{DryRun: true})
		}
	}
	if err == nil {
		return b, made, []finding{judged(check, len(b.Tenants) > 0, "the file is valid, and the secrets that it names are set", healthWarn,
			"the file has no tenant, so no client can call the API", "add one")}
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		found = append(found, failed(check, line, "correct the file, or set what it names"))
	}
	return b, made, found
}

// lists loads each list as a host does.
func (c preflight) lists(ctx context.Context, s *session, all []definitions.List) (found []finding) {
	const check, advice = "list", "replace the file; verifyctl screening test searches every name of a list"
	oldest := map[string]time.Duration{}
	var sources []screening.Source
	for _, l := range all {
		sources, oldest[l.Name] = append(sources, bootstrap.ListSource(l)), l.MaxAge
	}
	_, _ = screening.Open(ctx, sources, screening.Options{ // Loaded has the errors
		Log: slog.New(slog.DiscardHandler), Now: s.clock.Now, MaxBytes: c.ListBytes, Setting: cli.Setting("list-bytes"),
		Loaded: func(name string, l *watchlist.List, err error) {
			if err != nil {
				found = append(found, failed(check, name+": "+err.Error(), advice))
				return
			}
			message := fmt.Sprintf("%s has %d entries of %s", name, l.Entries, l.Date.Format(time.DateOnly))
			young := oldest[name] == 0 || s.clock.Now().Sub(l.Date) <= oldest[name]
			found = append(found, judged(check, young, message, healthWarn, message+": older than its max_age", advice))
		},
	})
	return found
}
