// The commands about workflow files, and about the workflows of a tenant.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type workflowCommands struct {
	Validate workflowValidate `cmd:"" help:"Report every problem of workflow files."`
	Try      workflowTry      `cmd:"" help:"Play a workflow file in memory, and test it with a file of cases."`
	Graph    workflowGraph    `cmd:"" help:"Draw the graph of a workflow file."`
	Diff     workflowDiff     `cmd:"" help:"List what differs between two workflow files."`
	List     workflowList     `cmd:"" help:"List the workflows of a tenant."`
	Versions workflowVersions `cmd:"" help:"List the versions of a workflow, or print one."`
	Publish  workflowPublish  `cmd:"" help:"Publish a version, so that new runs execute it."`
	Retire   workflowRetire   `cmd:"" help:"Retire a workflow, so that it takes no new runs."`
	Unretire workflowUnretire `cmd:"" help:"Let a retired workflow take new runs again."`
}

type workflowValidate struct {
	Files []string `arg:"" name:"file" help:"Workflow files, in YAML or JSON."`
	hostsFlags
	Strict bool `help:"Warnings are problems."`
	JSON   bool `name:"json" help:"Print the problems and warnings as a JSON array."`
}

// hostsFlags say what the hosts have.
type hostsFlags struct {
	Providers []string `placeholder:"NAME" help:"Providers of the hosts beside the offline checks. A check with another provider is a problem. By default any provider is allowed."`
	Lists     []string `placeholder:"NAME" help:"Lists of the hosts. A check against another list is a problem. By default any list is allowed."`
	Bootstrap string   `placeholder:"FILE" help:"Bootstrap file of the hosts: its providers and lists are those that a check may use."`
}

// problemJSON is one problem in the output of validate --json.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // 0 when unknown
	Column  int    `json:"column"` // 0 when unknown
	Field   string `json:"field"`  // empty for the whole file
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
}

// Run prints the problems and warnings on stdout. It checks all files, even if one cannot
// be read.
func (w workflowValidate) Run(ctx context.Context, s *session) error {
	hosts, err := w.hosts(ctx, s)
	if err != nil {
		return s.printProblems(err)
	}
	var unread error
	found, failed := []problemJSON{}, false
	for _, file := range w.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		checked, err := compile(ctx, file, hosts)
		var problems *definition.Diagnostics
		if err != nil && !errors.As(err, &problems) {
			unread = errors.Join(unread, err)
			continue
		}
		failed = failed || problems != nil || w.Strict && len(checked.warnings) > 0
		if problems != nil {
			found = append(found, problemsOf(problems)...)
		}
		for _, d := range checked.warnings {
			found = append(found, problemJSON{File: d.File, Line: d.Line, Column: d.Column, Field: d.Path, Message: d.Message, Warning: !w.Strict})
		}
		if !w.JSON {
			w.print(s, file, checked, problems)
		}
		if problems != nil && checked.form {
			s.note(fmt.Sprintf("%s: %s of form; the meaning was not checked", file, counted(len(problems.List)+problems.More, "problem")))
		}
	}
	if w.JSON {
		if err := s.json(found); err != nil {
			return err
		}
	}
	if unread == nil && failed {
		return errProblems
	}
	return unread
}

func (w workflowValidate) print(s *session, file string, checked checkedWorkflow, problems *definition.Diagnostics) {
	if problems != nil {
		fmt.Fprintln(s.stdout, problems)
	}
	for _, d := range checked.warnings {
		if !w.Strict {
			d.Message = "warning: " + d.Message
		}
		fmt.Fprintln(s.stdout, d)
	}
	switch n := len(checked.warnings); {
	case problems != nil || w.Strict && n > 0:
	case n > 0:
		fmt.Fprintf(s.stdout, "%s: ok, with %s\n", file, counted(n, "warning"))
	default:
		fmt.Fprintln(s.stdout, file+": ok")
	}
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// knownHosts is what the hosts of a workflow have.
type knownHosts struct {
	providers []string // nil allows every provider
	described map[string]verification.ProviderDescription
	lists     []definition.List // of the bootstrap file
}

// hosts returns what the flags say about the hosts.
func (w hostsFlags) hosts(ctx context.Context, s *session) (knownHosts, error) {
	known := knownHosts{providers: w.Providers, described: workflow.Descriptions(builtIn())}
	lists := w.Lists
	if w.Bootstrap != "" {
		b, made, err := s.readProviders(ctx, w.Bootstrap, rest.Options{})
		if err != nil {
			return known, err
		}
		if known.providers == nil {
			known.providers = []string{"sandbox", "sandbox_2"}
		}
		add := func(providers map[string]verification.Provider) {
			for name, d := range workflow.Descriptions(providers) {
				if slices.Contains(known.providers, name) {
					d = verification.ProviderDescription{} // two tenants have providers of this name
				}
				known.providers, known.described[name] = append(known.providers, name), d
			}
		}
		add(made.All)
		for _, t := range b.Tenants {
			add(made.Tenant[t.Tenant.ID])
		}
		if lists == nil {
			lists = []string{}
		}
		for _, l := range b.Lists {
			lists = append(lists, l.Name)
		}
		known.lists = b.Lists
	}
	if lists != nil {
		d, err := withLists(known.described[screening.ProviderName], lists)
		if err != nil {
			return known, err
		}
		known.described[screening.ProviderName] = d
	}
	if known.providers != nil {
		known.providers = slices.Concat(known.providers, slices.Sorted(maps.Keys(builtIn())))
	}
	return known, nil
}

// withLists returns a description that allows the names of lists only.
func withLists(d verification.ProviderDescription, lists []string) (verification.ProviderDescription, error) {
	slices.Sort(lists)
	d.Lists = lists
	with := d.With.Map()
	properties, _ := with["properties"].(map[string]any)
	list, ok := properties["list"].(map[string]any)
	if !ok || len(lists) == 0 {
		return d, nil
	}
	list["enum"] = lists
	text, err := verification.NewData(with)
	d.With = text
	return d, err
}

// builtIn returns the checks that every host has, except the sandbox. Those of screening only
// describe themselves: providerCall makes the one that it calls.
func builtIn() map[string]verification.Provider {
	checks := offline.Checks()
	checks[screening.ProviderName], checks[screening.NameMatchName] = screening.NewProvider(nil, nil), screening.NewNameMatch()
	return checks
}

// checkedWorkflow is a workflow file that was read and compiled.
type checkedWorkflow struct {
	definition workflow.Definition // empty if the file has problems of form
	form       bool                // the file has problems of form
	warnings   []definition.Diagnostic
}

// compile reads and compiles a workflow file. If the file has problems, the error is a
// *definition.Diagnostics.
func compile(ctx context.Context, file string, hosts knownHosts) (checkedWorkflow, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return checkedWorkflow{}, err
	}
	doc, err := definition.ReadWorkflow(file, raw)
	if err != nil {
		return checkedWorkflow{form: true}, err
	}
	def := doc.Definition
	version := workflow.Version{Number: 1, Hash: def.VersionHash(), Definition: def}
	p, err := workflow.Compile(ctx, def.ID, version, expression.New(), hosts.providers, hosts.described)
	return checkedWorkflow{definition: def, warnings: doc.ExplainFields(p.Warnings()).List}, doc.Explain(err)
}

func problemsOf(problems *definition.Diagnostics) []problemJSON {
	var out []problemJSON
	for _, f := range problems.List {
		out = append(out, problemJSON{File: f.File, Line: f.Line, Column: f.Column, Field: f.Path, Message: f.Message})
	}
	if problems.More > 0 {
		more := fmt.Sprintf("and %d more problems", problems.More)
		out = append(out, problemJSON{File: out[len(out)-1].File, Message: more})
	}
	return out
}

type workflowList struct {
	tenantFlags
	pageFlags
	jsonFlag
}

// workflowJSON is a workflow as lists of the API show it, and what only operators
// see.
type workflowJSON struct {
	apitypes.Workflow
	Slug        string `json:"workflow"` // the stable name
	Versions    int    `json:"versions"`
	VersionHash string `json:"version_hash"` // the version that new runs execute
	LatestHash  string `json:"latest_version_hash"`

	Retention verification.Retention `json:"retention,omitzero"`
}

func newWorkflowJSON(w workflow.Workflow) workflowJSON {
	return workflowJSON{apitypes.NewWorkflow(w), w.Slug, w.Versions, w.Current(), w.LatestHash, w.Retention}
}

func (c workflowList) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		found, err := db.Workflows(ctx, t.ID, q)
		if err != nil {
			return err
		}
		return printPage(s, c.JSON, found, newWorkflowJSON, "ID WORKFLOW NAME VERSIONS PUBLISHED RETIRED VERSION_HASH LIFECYCLE_WEBHOOK_URL")
	})
}

type workflowPublish struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" help:"The version: its hash, or at least the first 6 digits of it."`
	tenantFlags
	jsonFlag
}

// Run publishes a version and prints its hash.
func (c workflowPublish) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		v, err := db.version(ctx, t.ID, before.ID, c.Version)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		w, err := e.Publish(ctx, t.ID, before.ID, v.Hash)
		if err != nil {
			return err
		}
		if before.PublishedHash != w.PublishedHash {
			s.noteBootstrap("workflow " + w.Slug)
		}
		return s.say(c.JSON, newWorkflowJSON(w), "%s: new runs execute %s", oneLine(w.Slug), short(w.PublishedHash))
	})
}

type workflowRetire struct{ workflowRetirement }

func (c workflowRetire) Run(ctx context.Context, s *session) error { return c.set(ctx, s, true) }

type workflowUnretire struct{ workflowRetirement }

func (c workflowUnretire) Run(ctx context.Context, s *session) error { return c.set(ctx, s, false) }

// workflowRetirement is what retire and unretire share.
type workflowRetirement struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	tenantFlags
	jsonFlag
}

func (c workflowRetirement) set(ctx context.Context, s *session, retired bool) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		w, err := e.Retire(ctx, t.ID, before.ID, retired)
		if err != nil {
			return err
		}
		if w.Retired != before.Retired {
			s.noteBootstrap("workflow " + w.Slug)
		}
		state := "takes new runs"
		if retired {
			state = "takes no new runs; its runs go on"
		}
		return s.say(c.JSON, newWorkflowJSON(w), "%s: %s", oneLine(w.Slug), state)
	})
}

type workflowVersions struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" optional:"" help:"Print the definition of this version: its hash, or at least the first 6 digits of it."`
	tenantFlags
	pageFlags
	jsonFlag
}

type versionJSON struct {
	Number      int                  `json:"number"`
	VersionHash string               `json:"version_hash"`
	CreatedAt   apitypes.Timestamp   `json:"created_at"`
	Published   bool                 `json:"published"`
	Latest      bool                 `json:"latest"` // the version of the newest definition
	Definition  *workflow.Definition `json:"definition,omitempty"`
}

func newVersionJSON(w workflow.Workflow, v workflow.VersionInfo) versionJSON {
	return versionJSON{
		Number: v.Number, VersionHash: v.Hash, CreatedAt: apitypes.Timestamp{Time: v.CreatedAt},
		Published: v.Hash == w.PublishedHash, Latest: v.Hash == w.LatestHash,
	}
}

// Run prints one page of versions, or the definition of one.
func (c workflowVersions) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		w, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		if c.Version != "" {
			return c.show(ctx, s, db, t.ID, w)
		}
		found, err := db.Versions(ctx, t.ID, w.ID, q)
		if err != nil {
			return err
		}
		convert := func(v workflow.VersionInfo) versionJSON { return newVersionJSON(w, v) }
		return printPage(s, c.JSON, found, convert, "NUMBER VERSION_HASH CREATED_AT PUBLISHED LATEST")
	})
}

func (c workflowVersions) show(ctx context.Context, s *session, db *database, t verification.TenantID, w workflow.Workflow) error {
	found, err := db.version(ctx, t, w.ID, c.Version)
	if err != nil {
		return err
	}
	v, err := db.Version(ctx, t, w.ID, found.Hash)
	if err != nil {
		return err
	}
	if !c.JSON {
		return s.json(v.Definition)
	}
	out := newVersionJSON(w, found)
	out.Definition = &v.Definition
	return s.json(out)
}
