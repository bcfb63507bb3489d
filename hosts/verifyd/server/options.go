// Options: what a program adds to its own host.

package server

import (
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

// Option adds something of the program to its host.
type Option func(*additions)

type additions struct {
	providers []namedProvider
	documents verification.DocumentStore // nil: the settings name the store
	mounted   bool                       // the program serves the API on a server of its own
}

type namedProvider struct {
	name     string
	provider verification.Provider
}

// WithProvider adds a provider for the checks of all tenants. name has 1 to 64
// letters, digits, '-' and '_', and begins with a letter. The host does not start if a
// built-in provider, another WithProvider, or a provider that the bootstrap file
// declares for all tenants has the same name. Several goroutines may call p at once.
func WithProvider(name string, p verification.Provider) Option {
	return func(a *additions) { a.providers = append(a.providers, namedProvider{name, p}) }
}

// WithDocumentStore sets the store of uploaded documents, so that providers of the
// program can open them. The settings must not name another store. Hosts that share a
// database need a store that they share, too. A nil store changes nothing.
func WithDocumentStore(d verification.DocumentStore) Option {
	return func(a *additions) { a.documents = d }
}

func newAdditions(options []Option) (a additions) {
	for _, add := range options {
		add(&a)
	}
	return a
}

func (a additions) addTo(builtIn map[string]verification.Provider, p *problems) {
	own := map[string]bool{}
	for _, add := range a.providers {
		var err error
		switch {
		case own[add.name]:
			err = errors.New("the program has two providers of this name")
		case builtIn[add.name] != nil:
			err = errors.New("a built-in provider has this name")
		case !definitions.IsProviderName(add.name):
			err = errors.New("a name has 1 to 64 letters, digits, - and _, and begins with a letter")
		case add.provider == nil:
			err = errors.New("the provider is nil")
		}
		if err != nil {
			p.other(fmt.Errorf("WithProvider(%q): %w", add.name, err))
			continue
		}
		own[add.name], builtIn[add.name] = true, add.provider
	}
}

// checkDocuments records settings of a store that the program replaces.
func (a additions) checkDocuments(s Settings, p *problems) {
	if a.documents == nil {
		return
	}
	const why = "must not be given: the program has its own document store"
	if s.BlobDir != "" {
		p.add("blob-dir", why)
	}
	if s.S3Endpoint != "" {
		p.add("s3-endpoint", why)
	}
	if s.TenantDocumentBytes != 0 {
		p.add("document-bytes-per-tenant", why)
	}
}
