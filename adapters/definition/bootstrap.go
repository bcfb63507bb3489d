// A bootstrap file becomes tenants, accounts and workflows.

package definition

import (
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of a bootstrap file.
const (
	maxName      = 200
	maxWorkflows = 1000
)

// Bootstrap is what a host is to know from the start.
type Bootstrap struct {
	Tenants []Tenant
}

// Tenant is one tenant of a bootstrap file, with what belongs to it.
type Tenant struct {
	// Tenant has an empty WebhookSecret when the file has none.
	Tenant   verification.Tenant
	Accounts []verification.Account
	// Workflows all have an ID: their own, or that of verification.DeriveWorkflowID.
	Workflows []Document
}

// ReadBootstrap reads a bootstrap file. Workflows that it names by a path
// beside it are read through open. An api_key or webhook_secret may be
// ${env:NAME}: then it is what getenv says of NAME, which must not be empty.
// Either may be nil: then there are no files beside this one, or no variables.
// The error is a *Faults of all files together; it unwraps to an ErrInvalid and
// never holds a secret.
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
		reader: reader{file: file, faults: &faults{discreet: true, files: []string{file}}},
		open:   open, getenv: getenv,
		tenants: map[verification.TenantID]bool{}, clients: map[string]bool{},
	}
	var found Bootstrap
	if root := parse(file, raw, b.faults); root != nil {
		f := b.object(root, root.at, nil)
		f.require("tenants")
		f.objects("tenants", func(t *fields) {
			found.Tenants = append(found.Tenants, b.tenant(t))
		})
		f.close()
	}
	if err := b.faults.err("bootstrap"); err != nil {
		return Bootstrap{}, err
	}
	return found, nil
}

// bootstrapReader reads one bootstrap file and the files that it names.
type bootstrapReader struct {
	reader
	open      func(string) ([]byte, error)
	getenv    func(string) string
	tenants   map[verification.TenantID]bool // seen so far
	clients   map[string]bool                // seen so far
	workflows int                            // seen so far
}

func (b *bootstrapReader) tenant(f *fields) Tenant {
	f.require("id", "name")
	t := verification.Tenant{
		ID:                b.tenantID(f),
		Name:              f.text("name"),
		RedirectAllowlist: b.allowlist(f),
		WebhookSecret:     b.webhookSecret(f, "webhook_secret"),
		Colour:            f.text("colour"),
	}
	t.PreviousWebhookSecret = b.webhookSecret(f, "previous_webhook_secret")
	if e, ok := f.tree.entry("colour"); ok && e.value.kind == kindText && !colour(t.Colour) {
		f.fault(e.at, f.path.field("colour"), "must be six hexadecimal digits after a #, in quotes, such as \"#0b5c4a\"")
	}
	if e, ok := f.tree.entry("previous_webhook_secret"); ok && t.WebhookSecret == "" {
		f.fault(e.at, f.path.field("previous_webhook_secret"), "must come with a webhook_secret")
	}
	if e, ok := f.tree.entry("name"); ok && e.value.kind == kindText && (t.Name == "" || utf8.RuneCountInString(t.Name) > maxName) {
		f.fault(e.at, f.path.field("name"), "must be 1 to 200 characters")
	}
	all := Tenant{Tenant: t}
	f.objects("accounts", func(a *fields) {
		all.Accounts = append(all.Accounts, b.account(a, t.ID))
	})
	names, ids := map[string]bool{}, map[verification.WorkflowID]bool{}
	f.items("workflows", func(item *tree, p *path) {
		d, ok := b.workflow(item, p)
		if !ok {
			return
		}
		if d.Definition.ID == "" {
			d.Definition.ID = verification.DeriveWorkflowID(t.ID, d.Definition.Workflow)
		}
		name, id := d.Definition.Workflow, d.Definition.ID
		switch {
		case name != "" && names[name]:
			b.fault(item.at, p, "the tenant has another workflow of the same name, "+shown(name))
		case ids[id]:
			b.fault(item.at, p, "the tenant has another workflow of the same id")
		}
		names[name], ids[id] = true, true
		all.Workflows = append(all.Workflows, d)
	})
	f.close()
	return all
}

// colour tells whether s is #rrggbb.
func colour(s string) bool {
	digits, ok := strings.CutPrefix(s, "#")
	return ok && len(digits) == 6 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

func (b *bootstrapReader) tenantID(f *fields) verification.TenantID {
	written := f.text("id")
	if written == "" {
		return ""
	}
	id, err := verification.ParseTenantID(written)
	switch {
	case err != nil:
		f.fault(f.place("id"), f.path.field("id"), sentence(err))
	case b.tenants[id]:
		f.fault(f.place("id"), f.path.field("id"), "another tenant has the same id")
	}
	b.tenants[id] = true
	return id
}

// allowlist holds that every entry allows itself: then it is as plain a URL as
// a redirect_uri must be.
func (b *bootstrapReader) allowlist(f *fields) []string {
	var all []string
	f.items("redirect_allowlist", func(item *tree, p *path) {
		if item.kind != kindText {
			f.wrongType(item, item.at, p, kindText)
			return
		}
		err := verification.Tenant{RedirectAllowlist: []string{item.word}}.CheckRedirect(item.word)
		if err != nil {
			f.fault(item.at, p, sentence(err))
			return
		}
		if u, err := url.Parse(item.word); err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
			f.fault(item.at, p, "must have no query and no fragment")
			return
		}
		all = append(all, item.word)
	})
	return all
}

func (b *bootstrapReader) account(f *fields, tenant verification.TenantID) verification.Account {
	f.require("client_id", "api_key")
	a := verification.Account{
		ClientID: f.text("client_id"),
		Tenant:   tenant,
		KeyHash:  verification.HashAPIKey(b.apiKey(f)),
		Disabled: f.flag("disabled"),
		Surfaces: b.surfaces(f),
	}
	if e, ok := f.tree.entry("client_id"); ok && e.value.kind == kindText {
		err := a.Validate()
		switch {
		case err != nil:
			f.fault(e.at, f.path.field("client_id"), sentence(err))
		case b.clients[a.ClientID]:
			f.fault(e.at, f.path.field("client_id"), "another account has the same client_id")
		}
		b.clients[a.ClientID] = true
	}
	f.close()
	return a
}

func (b *bootstrapReader) surfaces(f *fields) []verification.Surface {
	e, given := f.tree.entry("surfaces")
	if !given {
		f.asked = append(f.asked, "surfaces")
		return verification.Surfaces()
	}
	var all []verification.Surface
	f.items("surfaces", func(item *tree, p *path) {
		s := verification.Surface(item.word)
		switch {
		case item.kind != kindText || !slices.Contains(verification.Surfaces(), s):
			f.fault(item.at, p, "must be workflows, runs or signals")
		case slices.Contains(all, s):
			f.fault(item.at, p, "the surface is given twice")
		default:
			all = append(all, s)
		}
	})
	if e.value.kind == kindList && len(e.value.items) == 0 {
		f.fault(e.at, f.path.field("surfaces"), "must name a surface: leave the field out for all")
	}
	return all
}

// workflow reads a workflow that stands inline or in a file beside this one.
func (b *bootstrapReader) workflow(item *tree, p *path) (Document, bool) {
	if b.workflows++; b.workflows > maxWorkflows {
		if b.workflows == maxWorkflows+1 {
			b.fault(item.at, p, "a bootstrap file names at most 1000 workflows")
		}
		return Document{}, false
	}
	if item.kind == kindObject {
		return Document{File: b.file, Definition: b.reader.workflow(item, item.at, p), root: item, base: p}, true
	}
	if item.kind != kindText || item.word == "" {
		b.fault(item.at, p, "must be the path of a workflow file, or a workflow")
		return Document{}, false
	}
	name := item.word
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(b.file), name)
	}
	raw, err := b.open(name)
	if err != nil {
		b.fault(item.at, p, err.Error())
		return Document{}, false
	}
	beside := &faults{}
	d := read(name, raw, beside)
	b.faults.merge(beside)
	return d, d.root != nil
}
