// Which of the files that hosts apply to one database is the newest.

package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Ledger records the files that were applied to a database, who runs with them, what was accepted of the
// lists that they name, and which reviewers were signed out.
type Ledger interface { //nolint:interfacebloat // what hosts share beside the store
	AppliedFiles(ctx context.Context) ([]pgadmin.AppliedFile, error)
	SaveAppliedFile(ctx context.Context, f pgadmin.AppliedFile) error
	Hosts(ctx context.Context) ([]pgadmin.Host, error)
	AcceptedLists(ctx context.Context) ([]pgadmin.AcceptedList, error)
	// SaveAcceptedList adds to what was accepted of a list, see AcceptedList.With.
	SaveAcceptedList(ctx context.Context, l pgadmin.AcceptedList) error
	// SignOuts returns the last sign-out of each reviewer.
	SignOuts(ctx context.Context) ([]pgadmin.SignOut, error)
	// SaveSignOut signs a reviewer out.
	SaveSignOut(ctx context.Context, s pgadmin.SignOut) error
	// LastBackup returns the moment of the last backup; zero for none.
	LastBackup(ctx context.Context) (time.Time, error)
	// SaveBackup saves the moment of the last backup.
	SaveBackup(ctx context.Context, at time.Time) error
}

// Hash identifies what a file says: two files with the same content have the same hash,
// whatever their names, comments and layout.
func Hash(b definitions.Bootstrap) (string, error) {
	type tenant struct {
		definitions.Tenant
		Providers map[string]verification.Data
		Workflows []workflow.Definition
	}
	declared := func(all []definitions.Provider) map[string]verification.Data {
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

// FileOf returns a file with this hash and these names.
func FileOf(hash string, n Names) (store.AppliedFile, error) {
	raw, err := json.Marshal(n)
	if err != nil {
		return store.AppliedFile{}, fmt.Errorf("encode the names of the bootstrap file: %w", err)
	}
	return store.AppliedFile{Hash: hash, Names: string(raw)}, nil
}
