// What the hosts have, as flags say it.

package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// hostsFlags say what the hosts have.
type hostsFlags struct {
	Providers []string `placeholder:"NAME" help:"Providers of the hosts beside the offline checks. A check with another provider is a problem. By default any provider is allowed."`
	Lists     []string `placeholder:"NAME" help:"Lists of the hosts. A check against another list is a problem. By default any list is allowed."`
	Bootstrap string   `placeholder:"FILE" help:"Bootstrap file of the hosts: its providers and lists are those that a check may use."`
}

// errNoFiles is returned by a command line without anything to validate.
var errNoFiles = errors.New("name a workflow file, or a bootstrap file with --bootstrap")

// knownHosts is what the hosts of a workflow have.
type knownHosts struct {
	providers []string // nil allows every provider
	described map[string]verification.ProviderDescription
	file      definitions.Bootstrap // empty without one
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
			known.providers = sandboxes()
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
		known.file = b
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
	warnings   []definitions.Diagnostic
}

// compile reads and compiles a workflow file. If the file has problems, the error is a
// *definitions.Diagnostics.
func compile(ctx context.Context, file string, hosts knownHosts) (checkedWorkflow, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return checkedWorkflow{}, err
	}
	doc, err := definitions.ReadWorkflow(file, raw)
	if err != nil {
		return checkedWorkflow{form: true}, err
	}
	def := doc.Definition
	version := workflow.Version{Number: 1, Definition: def} // without a hash: it is not known to be stored
	p, err := workflow.Compile(ctx, def.ID, version, expression.New(), hosts.providers, hosts.described)
	return checkedWorkflow{definition: def, warnings: doc.ExplainFields(p.Warnings()).List}, doc.Explain(err)
}
