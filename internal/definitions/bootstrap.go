// A bootstrap file becomes tenants, accounts and workflows.

package definitions

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The bounds of a bootstrap file.
const (
	maxName      = 200
	maxWorkflows = 1000
)

// Bootstrap is the content of a bootstrap file.
type Bootstrap struct {
	// Providers are those that all tenants may use, in the order of the file.
	Providers []Provider
	Lists     []List // in the order of their names
	Tenants   []Tenant
}

// Tenant is one tenant of a bootstrap file, with what belongs to it.
type Tenant struct {
	// Tenant has an empty WebhookSecret when the file has none.
	Tenant   verification.Tenant
	Accounts []verification.Account
	// Providers are the tenant's own.
	Providers []Provider
	// Workflows all have an ID: their own, or the result of workflow.DeriveWorkflowID.
	Workflows []Document
}

// The form of a bootstrap file; see bootstrap.schema.json.
type (
	bootstrapFile struct {
		Tenants   []tenantFields             `json:"tenants"`
		Providers map[string]json.RawMessage `json:"providers"`
		Lists     map[string]listFields      `json:"lists"`
	}
	tenantFields struct {
		ID                    string                     `json:"id"`
		Name                  string                     `json:"name"`
		TimeZone              *string                    `json:"time_zone"`
		RedirectAllowlist     []string                   `json:"redirect_allowlist"`
		WebhookSecret         *string                    `json:"webhook_secret"`
		PreviousWebhookSecret *string                    `json:"previous_webhook_secret"`
		Colour                *string                    `json:"colour"`
		Logo                  string                     `json:"logo"`
		Links                 linkFields                 `json:"links"`
		Retention             verification.Retention     `json:"retention"`
		Accounts              []accountFields            `json:"accounts"`
		Providers             map[string]json.RawMessage `json:"providers"`
		Workflows             []json.RawMessage          `json:"workflows"`
	}
	linkFields struct {
		Privacy *string `json:"privacy"`
		Help    *string `json:"help"`
		Legal   *string `json:"legal"`
		Phone   *string `json:"phone"`
	}
	accountFields struct {
		ClientID string                 `json:"client_id"`
		APIKey   string                 `json:"api_key"`
		Previous *string                `json:"previous_api_key"`
		Disabled bool                   `json:"disabled"`
		Surfaces []verification.Surface `json:"surfaces"`
	}
)

// ReadBootstrap reads a bootstrap file. It calls open to read the workflow files and
// logos that the file names; a nil open finds none. An API key or webhook secret may be
// ${env:NAME}: then it is the result of getenv, which must not be empty; a nil getenv
// finds no variable. Or it is ${file:PATH}, the content of a file beside this one. The error is a *Diagnostics of all files together that unwraps to
// an ErrInvalid; it contains no secret.
func ReadBootstrap(file string, raw []byte, open func(path string) ([]byte, error), getenv func(name string) string) (Bootstrap, error) {
	if open == nil {
		open = func(path string) ([]byte, error) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
	}
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	b := &bootstrapReader{
		diagnostics: &diagnostics{secrets: true}, file: file, open: open, getenv: getenv,
		tenants: map[verification.TenantID]bool{}, clients: map[string]bool{},
	}
	found := b.read(raw)
	if err := b.err("bootstrap", file); err != nil {
		return Bootstrap{}, err
	}
	return found, nil
}

// bootstrapReader reads one bootstrap file and the files that it names.
type bootstrapReader struct {
	*diagnostics
	file      string
	root      *tree
	open      func(string) ([]byte, error)
	getenv    func(string) string
	tenants   map[verification.TenantID]bool // read so far
	clients   map[string]bool                // read so far
	workflows int                            // read so far
}

func (b *bootstrapReader) read(raw []byte) (found Bootstrap) {
	if b.root = parse(b.file, raw, b.diagnostics); b.root == nil {
		return found
	}
	bootstrapForm().check(b.file, b.root, b.diagnostics)
	var file bootstrapFile
	text, err := json.Marshal(b.root.value())
	if err = cmp.Or(err, json.Unmarshal(text, &file)); err != nil {
		b.problem(nil, "the file cannot be decoded")
		return found
	}
	found.Lists = b.lists(file.Lists)
	found.Providers = b.providers(path{"providers"}, file.Providers)
	for i, t := range file.Tenants {
		found.Tenants = append(found.Tenants, b.tenant(path{"tenants", i}, t))
	}
	return found
}

// problem reports a problem of a value, unless its form is wrong already.
func (b *bootstrapReader) problem(p path, message string) {
	if b.usable(p) {
		at, _ := b.root.find(p.String())
		b.add(b.file, at, p, message)
	}
}

// check reports a problem of a field unless ok.
func (b *bootstrapReader) check(ok bool, p path, name, message string) {
	if !ok {
		b.problem(append(slices.Clip(p), name), message)
	}
}

// report reports the error that a rule of the domain returns for a field.
func (b *bootstrapReader) report(err error, p path, name string) {
	if err != nil {
		b.check(false, p, name, sentence(err))
	}
}

func (b *bootstrapReader) tenant(p path, f tenantFields) Tenant {
	t := verification.Tenant{
		Name:                  f.Name,
		RedirectAllowlist:     f.RedirectAllowlist,
		Retention:             f.Retention,
		WebhookSecret:         b.checkedSecret(p, "webhook_secret", f.WebhookSecret, verification.ValidateWebhookSecret),
		PreviousWebhookSecret: b.checkedSecret(p, "previous_webhook_secret", f.PreviousWebhookSecret, verification.ValidateWebhookSecret),
	}
	var err error
	t.ID, err = verification.ParseTenantID(f.ID)
	b.report(err, p, "id")
	b.check(err != nil || !b.tenants[t.ID], p, "id", "another tenant has the same id")
	b.tenants[t.ID] = true
	if f.Colour != nil {
		t.Colour = *f.Colour
		b.check(matches(t.Colour, `#[0-9a-fA-F]{6}`), p, "colour", "must be six hexadecimal digits after a #, in quotes, such as \"#0b5c4a\"")
	}
	if f.TimeZone != nil {
		t.Zone = *f.TimeZone
		b.check(isZone(t.Zone), p, "time_zone", "must be a time zone of the IANA database, such as Asia/Kolkata")
	}
	t.Logo = b.logo(append(slices.Clip(p), "logo"), f.Logo)
	t.Links = b.links(append(slices.Clip(p), "links"), f.Links)
	for _, problem := range f.Retention.Problems() {
		b.problem(append(slices.Clip(p), "retention", problem.Name), problem.Message)
	}
	b.check(f.PreviousWebhookSecret == nil || f.WebhookSecret != nil, p, "previous_webhook_secret", "must come with a webhook_secret")
	b.check(f.Name != "" && utf8.RuneCountInString(f.Name) <= maxName, p, "name", "must be 1 to 200 characters")
	for i, u := range f.RedirectAllowlist {
		if message := allowlisted(u); message != "" {
			b.problem(append(slices.Clip(p), "redirect_allowlist", i), message)
		}
	}
	all := Tenant{Tenant: t, Providers: b.providers(append(slices.Clip(p), "providers"), f.Providers)}
	for i, a := range f.Accounts {
		all.Accounts = append(all.Accounts, b.account(append(slices.Clip(p), "accounts", i), a, t.ID))
	}
	names, ids := map[string]bool{}, map[verification.WorkflowID]bool{}
	for i, raw := range f.Workflows {
		at := append(slices.Clip(p), "workflows", i)
		d, ok := b.workflow(at, raw)
		if !ok {
			continue
		}
		if d.Definition.ID == "" {
			d.Definition.ID = workflow.DeriveWorkflowID(t.ID, d.Definition.Workflow)
		}
		name, id := d.Definition.Workflow, d.Definition.ID
		switch {
		case name != "" && names[name]:
			b.problem(at, "the tenant has another workflow of the same name, "+quotedName(name))
		case ids[id]:
			b.problem(at, "the tenant has another workflow of the same id")
		}
		names[name], ids[id] = true, true
		all.Workflows = append(all.Workflows, d)
	}
	return all
}

// isZone reports whether name is a zone of the IANA database. Local, which
// time.LoadLocation also loads, depends on the host.
func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "" && name != "Local"
}

// allowlisted says what is wrong with an entry of an allowlist, which must allow
// itself: then it is as plain a URL as a redirect_uri must be.
func allowlisted(entry string) string {
	if err := (verification.Tenant{RedirectAllowlist: []string{entry}}).ValidateRedirect(entry); err != nil {
		return sentence(err)
	}
	if u, err := url.Parse(entry); err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "must have no query and no fragment"
	}
	return ""
}

func (b *bootstrapReader) account(p path, f accountFields, tenant verification.TenantID) verification.Account {
	a := verification.Account{
		ClientID: f.ClientID, Tenant: tenant, Disabled: f.Disabled, Surfaces: f.Surfaces,
		KeyHash: verification.HashAPIKey(b.checkedSecret(p, "api_key", &f.APIKey, verification.ValidateAPIKey)),
	}
	if previous := b.checkedSecret(p, "previous_api_key", f.Previous, verification.ValidateAPIKey); previous != "" {
		a.PreviousKeyHash = verification.HashAPIKey(previous)
		b.check(a.PreviousKeyHash != a.KeyHash, p, "previous_api_key", "must be another key than api_key")
	}
	b.report(verification.Account{ClientID: f.ClientID}.Validate(), p, "client_id") // the schema checks the surfaces
	b.check(f.ClientID == "" || !b.clients[f.ClientID], p, "client_id", "another account has the same client_id")
	b.clients[f.ClientID] = true
	if f.Surfaces == nil {
		a.Surfaces = verification.Surfaces()
	}
	b.check(f.Surfaces == nil || len(f.Surfaces) > 0, p, "surfaces", "must name a surface: leave the field out for all but files and erase")
	for i, s := range f.Surfaces {
		if slices.Contains(f.Surfaces[:i], s) {
			b.problem(append(slices.Clip(p), "surfaces", i), "the surface is given twice")
		}
	}
	return a
}

// workflow reads a workflow that is inline, or in a file beside this one.
func (b *bootstrapReader) workflow(p path, raw json.RawMessage) (Document, bool) {
	if b.workflows++; b.workflows > maxWorkflows {
		if b.workflows == maxWorkflows+1 {
			b.problem(p, "a bootstrap file names at most 1000 workflows")
		}
		return Document{}, false
	}
	if raw[0] == '{' {
		if b.reportedUnder(p) {
			return Document{}, false
		}
		_, t := b.root.find(p.String())
		return Document{File: b.file, Definition: decode(b.file, t, p, b.diagnostics), location: location{b.file, b.root, p.String()}}, true
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil || name == "" {
		b.problem(p, "must be the path of a workflow file, or a workflow")
		return Document{}, false
	}
	name, content, ok := b.beside(p, name)
	if !ok {
		return Document{}, false
	}
	beside := &diagnostics{}
	d := readWorkflow(name, content, beside)
	b.list = append(b.list, beside.list...)
	return d, d.root != nil && len(beside.list) == 0
}

// beside reads a file whose path is relative to this one. It returns false if it
// reports a problem.
func (b *bootstrapReader) beside(p path, name string) (file string, content []byte, ok bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(b.file), name)
	}
	content, err := b.open(name)
	if err != nil {
		b.problem(p, err.Error())
	}
	return name, content, err == nil
}

// reportedUnder reports whether there is a problem of a value at or below a path.
func (b *bootstrapReader) reportedUnder(p path) bool {
	return slices.ContainsFunc(b.list, func(d Diagnostic) bool { return d.Path == p.String() || strings.HasPrefix(d.Path, p.String()+".") })
}

// secret returns a secret, which may be in a file or in the environment. It returns false if it
// reports a problem.
func (b *bootstrapReader) secret(p path, name, value string) (string, bool) {
	if file, is := strings.CutPrefix(value, "${file:"); is {
		file, closed := strings.CutSuffix(file, "}")
		if !closed || file == "" {
			b.check(false, p, name, "must be ${file:PATH} alone, with the path of a file")
			return "", false
		}
		at, content, ok := b.beside(append(slices.Clip(p), name), file)
		value = strings.TrimRight(string(content), "\r\n")
		b.check(!ok || value != "", p, name, "the file "+at+" is empty")
		return value, value != ""
	}
	reference, is := strings.CutPrefix(value, "${env:")
	if !is {
		return value, true
	}
	variable, closed := strings.CutSuffix(reference, "}")
	if !closed || !matches(variable, `[A-Za-z_]\w*`) {
		b.check(false, p, name, "must be ${env:NAME} alone, with the name of an environment variable")
		return "", false
	}
	value = strings.TrimRight(b.getenv(variable), "\r\n") // a mounted secret may end with a line break
	b.check(value != "", p, name, "the environment variable "+variable+" is not set")
	return value, value != ""
}

// checkedSecret returns a secret, and reports what check finds.
func (b *bootstrapReader) checkedSecret(p path, name string, value *string, check func(string) error) string {
	if value == nil {
		return ""
	}
	secret, ok := b.secret(p, name, *value)
	if ok {
		b.report(check(secret), p, name)
	}
	return secret
}

// matches reports whether all of s matches a regular expression.
func matches(s, pattern string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s)
}
