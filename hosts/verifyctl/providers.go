// The commands about providers, built in and of a bootstrap file.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

type providerCommands struct {
	List     providerList     `cmd:"" help:"List the built-in providers, and those of a bootstrap file." see:"providers.md#testing"`
	Validate providerValidate `cmd:"" help:"Report every problem of the providers of a bootstrap file." see:"providers.md#testing"`
	Call     providerCall     `cmd:"" help:"Call a provider once, and print the request and the result." see:"providers.md#testing"`
}

type bootstrapFlag struct {
	Bootstrap string `placeholder:"FILE" variable:"VERIFYD_BOOTSTRAP" help:"Bootstrap file of the hosts."`
}

type secretsFlag struct {
	SecretsDir string `placeholder:"DIR" variable:"VERIFYD_SECRETS_DIR" help:"Folder with the secrets, one file per secret, beside the variables VERIFYD_SECRET_NAME."`
}

func (s *session) readProviders(ctx context.Context, file string, o rest.Options) (b definitions.Bootstrap, made bootstrap.Providers, err error) {
	if file == "" {
		return b, made, errors.New(cli.Setting("bootstrap") + ": required, the bootstrap file of the hosts")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return b, made, err
	}
	if b, err = bootstrap.Read(ctx, file, raw, os.ReadFile, s.getenv); err != nil {
		return b, made, err
	}
	o.Expressions, o.Now = expression.New(), s.clock.Now
	made, err = bootstrap.MakeProviders(b, nil, o)
	return b, made, err
}

type providerList struct {
	bootstrapFlag
	jsonFlag
}

// providerJSON is one provider. Its TenantID is empty if it is for all tenants.
type providerJSON struct {
	Name     string                `json:"name"`
	TenantID verification.TenantID `json:"tenant_id,omitempty"`
	Type     string                `json:"type"`
	MaxCalls int                   `json:"max_calls,omitempty"` // none if the provider has no limit of its own
	Summary  string                `json:"summary"`
	With     json.RawMessage       `json:"with,omitempty"` // the JSON Schema of with
	Data     json.RawMessage       `json:"data,omitempty"` // the JSON Schema of the data
	Screens  bool                  `json:"screens,omitempty"`
}

// Run prints the built-in providers, then those of all tenants, then those of each
// tenant.
func (c providerList) Run(ctx context.Context, s *session) error {
	var b definitions.Bootstrap
	var made bootstrap.Providers
	if c.Bootstrap != "" {
		var err error
		if b, made, err = s.readProviders(ctx, c.Bootstrap, rest.Options{}); err != nil {
			return s.printProblems(err)
		}
	}
	var list []providerJSON
	known := builtIn()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		list = append(list, newProviderJSON(definitions.Provider{Name: name, Type: "built-in"}, "", known[name]))
	}
	add := func(t verification.TenantID, declared []definitions.Provider, made map[string]verification.Provider) {
		for _, d := range declared {
			list = append(list, newProviderJSON(d, t, made[d.Name]))
		}
	}
	add("", b.Providers, made.All)
	for _, t := range b.Tenants {
		add(t.Tenant.ID, t.Providers, made.Tenant[t.Tenant.ID])
	}
	return printList(s, c.JSON, list, "NAME TENANT_ID TYPE MAX_CALLS SUMMARY")
}

func newProviderJSON(d definitions.Provider, t verification.TenantID, p verification.Provider) providerJSON {
	out := providerJSON{Name: d.Name, TenantID: t, Type: d.Type}
	if l, ok := p.(verification.CallLimiter); ok {
		out.MaxCalls = l.MaxCalls()
	}
	v := workflow.Describe(p)
	out.Summary, out.With, out.Data, out.Screens = v.Summary, json.RawMessage(v.With), json.RawMessage(v.Data), v.Screens
	return out
}

type providerValidate struct {
	File         string `arg:"" help:"Bootstrap file, in YAML or JSON."`
	CheckSecrets bool   `help:"Report secrets that are not set, too."`
	secretsFlag
	JSON bool `name:"json" help:"Print the problems as a JSON array."`
}

// Run prints the problems on stdout.
func (c providerValidate) Run(ctx context.Context, s *session) (err error) {
	var o rest.Options
	if c.CheckSecrets {
		if o.Secret, err = cli.Secrets(s.getenv, c.SecretsDir); err != nil {
			return err
		}
	}
	_, _, err = s.readProviders(ctx, c.File, o)
	found := []problemJSON{}
	if err != nil {
		var failed error
		if found, failed = problemsIn(err); failed != nil {
			return failed
		}
	}
	switch {
	case c.JSON:
		if err := s.json(found); err != nil {
			return err
		}
	case err == nil:
		fmt.Fprintln(s.stdout, c.File+": ok")
	default:
		fmt.Fprintln(s.stdout, err)
	}
	if len(found) > 0 {
		return errProblems
	}
	return nil
}

// problemsIn returns the problems in a *definitions.Diagnostics, or in an error that
// joins several, and any other error as it is.
func problemsIn(err error) (found []problemJSON, other error) {
	found = []problemJSON{}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for _, one := range errs {
		var problems *definitions.Diagnostics
		if !errors.As(one, &problems) {
			return nil, err
		}
		found = append(found, problemsOf(problems)...)
	}
	return found, nil
}

type providerCall struct {
	Name         string `arg:"" help:"Name of the provider."`
	With         string `placeholder:"JSON" default:"{}" help:"The with of the check, a JSON object (default {})."`
	Handle       string `placeholder:"HANDLE" help:"Poll for the pending result with this handle."`
	AllowPrivate bool   `name:"allow-private-networks" variable:"VERIFYD_ALLOW_PRIVATE_NETWORKS" help:"Allow private and loopback addresses."`
	Tenant       string `placeholder:"TENANT" variable:"VERIFYD_TENANT" help:"Name or id of the tenant whose own provider is called."`
	ShowBody     bool   `name:"show-body" help:"Print the response of a vendor that does not fit its declaration, with secrets as ***. It may have personal data."`
	Zone         string `placeholder:"ZONE" help:"Time zone of the tenant, by which ages and expiries are judged, such as Asia/Kolkata (default UTC)."`
	bootstrapFlag
	secretsFlag
	jsonFlag
}

type callJSON struct {
	Requests []rest.Exchange `json:"requests"`
	Outcome  string          `json:"outcome,omitempty"`
	Handle   string          `json:"handle,omitempty"`
	Data     map[string]any  `json:"data,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Run calls the provider as a check would. A call without a result is exit code 1.
func (c providerCall) Run(ctx context.Context, s *session) error {
	var out callJSON
	secret, err := cli.Secrets(s.getenv, c.SecretsDir)
	if err != nil {
		return err
	}
	with, err := verification.ParseData([]byte(c.With))
	if err != nil {
		return fmt.Errorf("--with: must be a JSON object")
	}
	if _, err := time.LoadLocation(c.Zone); err != nil || c.Zone == "Local" {
		return fmt.Errorf("--zone: %q is not a time zone of the IANA database, such as Asia/Kolkata", c.Zone)
	}
	p, err := c.find(ctx, s, with.Map(), rest.Options{
		Secret: secret, AllowPrivateNetworks: c.AllowPrivate,
		Trace: func(x rest.Exchange) { out.Requests = append(out.Requests, x) },
	})
	if err != nil {
		return s.printProblems(err)
	}
	result, err := c.call(ctx, p, s.clock.Now(), with.Map())
	out.Outcome, out.Handle, out.Data = string(result.Outcome), result.Handle, result.Data
	if err != nil {
		out.Outcome, out.Error = "error", err.Error()
	}
	for i := range out.Requests {
		if !c.ShowBody || err == nil {
			out.Requests[i].Response = ""
		}
	}
	if printed := s.printCall(out, c.JSON); printed != nil {
		return printed
	}
	if err != nil {
		return errProblems
	}
	return nil
}

// find returns the provider that runs of the tenant would call. The built-in ones need no
// bootstrap file, except the one that searches lists.
func (c providerCall) find(ctx context.Context, s *session, with map[string]any, o rest.Options) (verification.Provider, error) {
	known := builtIn()
	known[screening.NameMatchName] = screening.NewNameMatch()
	var lists []definitions.List
	if c.Bootstrap != "" && (known[c.Name] == nil || c.Tenant != "" || c.Name == screening.ProviderName) {
		b, made, err := s.readProviders(ctx, c.Bootstrap, o)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, made.All)
		for _, t := range b.Tenants {
			if c.Tenant != "" && (c.Tenant == t.Tenant.Name || c.Tenant == string(t.Tenant.ID)) {
				maps.Copy(known, made.Tenant[t.Tenant.ID])
			}
		}
		lists = b.Lists
	}
	switch supported := slices.Sorted(maps.Keys(known)); {
	case c.Name == screening.ProviderName && c.Bootstrap == "":
		return nil, errors.New(cli.Setting("bootstrap") + ": required for " + c.Name + ", the file with the lists; verifyctl screening search searches a list without it")
	case c.Name == screening.ProviderName:
		return s.searcher(ctx, lists, with["list"])
	case known[c.Name] != nil:
		return known[c.Name], nil
	case c.Bootstrap == "":
		return nil, errors.New(cli.Setting("bootstrap") + ": required for " + c.Name + ", which is not built in" +
			workflow.DidYouMean(c.Name, supported) + " (built in: " + strings.Join(supported, ", ") + ")")
	default:
		return nil, notFound("provider", "there is no "+c.Name+workflow.DidYouMean(c.Name, supported)+" (supported: "+strings.Join(supported, ", ")+")")
	}
}

// searcher returns the provider that searches lists, with one list loaded.
func (s *session) searcher(ctx context.Context, lists []definitions.List, name any) (verification.Provider, error) {
	var sources []screening.Source
	for _, l := range lists {
		if l.Name == name {
			sources = append(sources, bootstrap.ListSource(l))
		}
	}
	opened, err := screening.Open(ctx, sources, screening.Options{Log: slog.New(slog.NewTextHandler(s.stderr, nil)), Now: s.clock.Now})
	if err != nil {
		return nil, err
	}
	return screening.NewProvider(opened, s.clock.Now), nil
}

func (c providerCall) call(ctx context.Context, p verification.Provider, now time.Time, with map[string]any) (verification.CheckResult, error) {
	request := verification.CheckRequest{
		Tenant: "00000000-0000-7000-8000-000000000000", Run: "00000000-0000-7000-8000-000000000000",
		ReferenceID: "verifyctl", StartedAt: now, Zone: c.Zone, Node: "call", Key: "call", Dispatch: 1,
		IdempotencyKey: "verifyctl/" + strconv.FormatInt(now.UnixNano(), 36), With: with,
		CallbackURL: "https://callbacks.invalid" + engine.CallbackPath + "verifyctl",
	}
	if c.Handle == "" {
		return p.Check(ctx, request)
	}
	poller, ok := p.(verification.Poller)
	if !ok {
		return verification.CheckResult{}, errors.New("the provider cannot be polled")
	}
	return poller.Poll(ctx, verification.PollRequest{CheckRequest: request, Handle: c.Handle})
}

func (s *session) printCall(out callJSON, asJSON bool) error {
	if asJSON {
		return s.json(out)
	}
	for _, x := range out.Requests {
		fmt.Fprintln(s.stdout, oneLine(x.Method+" "+x.URL))
		for _, name := range slices.Sorted(maps.Keys(x.Header)) {
			fmt.Fprintln(s.stdout, oneLine(name+": "+x.Header.Get(name)))
		}
		if x.Body != "" {
			fmt.Fprintln(s.stdout, "\n"+oneLine(x.Body))
		}
		status := "no response: " + x.Failure
		if x.Status != 0 {
			status = "responded with " + strconv.Itoa(x.Status)
		}
		fmt.Fprintf(s.stdout, "\n%s\n\n", status)
		if x.Response != "" {
			fmt.Fprintf(s.stdout, "%s\n\n", oneLine(x.Response))
		}
	}
	data := ""
	if out.Data != nil {
		raw, err := json.Marshal(out.Data)
		if err != nil {
			return err
		}
		data = string(raw)
	}
	return s.attributes([2]string{"outcome", out.Outcome}, [2]string{"handle", out.Handle}, [2]string{"data", data}, [2]string{"error", out.Error})
}
