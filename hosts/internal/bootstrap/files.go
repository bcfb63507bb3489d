// Which of the files that hosts apply to one database is the newest.

package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Ledger records the files that were applied to a database, and who runs with them.
type Ledger interface {
	AppliedFiles(ctx context.Context) ([]pgadmin.AppliedFile, error)
	SaveAppliedFile(ctx context.Context, f pgadmin.AppliedFile) error
	Hosts(ctx context.Context) ([]pgadmin.Host, error)
}

// Hash identifies what a file says: two files with the same content have the same hash,
// whatever their names, comments and layout.
func Hash(b definition.Bootstrap) (string, error) {
	type tenant struct {
		definition.Tenant
		Providers map[string]verification.Data
		Workflows []workflow.Definition
	}
	declared := func(all []definition.Provider) map[string]verification.Data {
		named := map[string]verification.Data{}
		for _, p := range all {
			named[p.Name] = p.Declaration
		}
		return named
	}
	var said struct {
		Providers map[string]verification.Data
		Lists     []string
		Tenants   []tenant
	}
	said.Providers = declared(b.Providers)
	for _, l := range b.Lists {
		said.Lists = append(said.Lists, l.Name)
	}
	for _, t := range b.Tenants {
		one := tenant{Tenant: t, Providers: declared(t.Providers)}
		for _, w := range t.Workflows {
			one.Workflows = append(one.Workflows, w.Definition)
		}
		said.Tenants = append(said.Tenants, one)
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("hash the bootstrap file: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw)), nil
}

// Newer returns the file that replaced the one with this hash: it was applied later, and
// another live host than the one with the id self runs with it. Otherwise the result is the zero AppliedFile: then
// the file is new, or the newest, or all hosts went back to it.
func Newer(ctx context.Context, l Ledger, hash, self string) (pgadmin.AppliedFile, error) {
	applied, err := l.AppliedFiles(ctx)
	if err != nil || len(applied) == 0 || applied[0].Hash == hash ||
		!slices.ContainsFunc(applied, func(f pgadmin.AppliedFile) bool { return f.Hash == hash }) {
		return pgadmin.AppliedFile{}, err
	}
	hosts, err := l.Hosts(ctx)
	if err != nil || !slices.ContainsFunc(hosts, func(h pgadmin.Host) bool { return h.Alive && h.ID != self && h.Bootstrap == applied[0].Hash }) {
		return pgadmin.AppliedFile{}, err
	}
	return applied[0], nil
}

// Record makes a file that was applied the newest one of a database.
func Record(ctx context.Context, l Ledger, hash string, n Names) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode the names of the bootstrap file: %w", err)
	}
	return l.SaveAppliedFile(ctx, pgadmin.AppliedFile{Hash: hash, Names: string(raw)})
}
