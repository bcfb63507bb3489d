// Making the providers of a file.

package bootstrap

import (
	"errors"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

// Providers are the providers of a host, as engine.Ports has them.
type Providers struct {
	All    map[string]verification.Provider
	Tenant map[verification.TenantID]map[string]verification.Provider
}

// MakeProviders makes the providers of a file. builtIn are those of the program: the
// file must not declare one of these names for all tenants. The error joins the
// problems of all providers, each a *definitions.Diagnostics.
func MakeProviders(b definitions.Bootstrap, builtIn map[string]verification.Provider, o rest.Options) (Providers, error) {
	made := Providers{All: map[string]verification.Provider{}, Tenant: map[verification.TenantID]map[string]verification.Provider{}}
	var problems []error
	report := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	for name, p := range builtIn {
		made.All[name] = p
	}
	for _, d := range b.Providers {
		if builtIn[d.Name] != nil {
			report(d.Explain(verification.InvalidField("provider", "", "a built-in provider has this name")))
			continue
		}
		report(add(made.All, d, o))
	}
	for _, t := range b.Tenants {
		if len(t.Providers) > 0 {
			made.Tenant[t.Tenant.ID] = map[string]verification.Provider{}
		}
		for _, d := range t.Providers {
			report(add(made.Tenant[t.Tenant.ID], d, o))
		}
	}
	return made, errors.Join(problems...)
}

func add(to map[string]verification.Provider, d definitions.Provider, o rest.Options) error {
	p, err := rest.New(d.Name, d.Declaration, o)
	if err != nil {
		return d.Explain(err)
	}
	to[d.Name] = p
	return nil
}
