// Lookup of tenants, workflows and versions by their names or ids.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// tenant returns a tenant by its id or its name. Without either it returns the only
// tenant.
func (d *database) tenant(ctx context.Context, f tenantFlag) (verification.Tenant, error) {
	if id, err := verification.ParseTenantID(f.Tenant); err == nil {
		t, err := d.tables().Tenant(ctx, id)
		if errors.Is(err, verification.ErrNotFound) {
			return t, notFound("tenant", "no tenant has this id (see verifyctl tenant list)")
		}
		return t, err
	}
	tenants, err := d.tables().Tenants(ctx)
	if err != nil {
		return verification.Tenant{}, err
	}
	found := slices.DeleteFunc(slices.Clone(tenants), func(t verification.Tenant) bool { return f.Tenant != "" && t.Name != f.Tenant })
	switch {
	case len(tenants) == 0:
		return verification.Tenant{}, notFound("tenant", "there are no tenants: create one with verifyctl apply or verifyctl account create --tenant-name")
	case f.Tenant == "" && len(tenants) > 1:
		return verification.Tenant{}, fmt.Errorf("%s: required, because there are %d tenants (see verifyctl tenant list)", cli.Setting("tenant"), len(tenants))
	}
	return only("tenant", found, fmt.Sprintf("no tenant has the name %q (see verifyctl tenant list)", f.Tenant),
		fmt.Sprintf("tenants have the name %q: give the id (see verifyctl tenant list)", f.Tenant))
}

// tenantOf returns the tenant of a run: the given one, which is not looked up if it is
// given by its id, or else the one that has the run.
func (d *database) tenantOf(ctx context.Context, f tenantFlag, run verification.RunID) (verification.TenantID, error) {
	if id, err := verification.ParseTenantID(f.Tenant); err == nil {
		return id, nil
	}
	if f.Tenant != "" {
		t, err := d.tenant(ctx, f)
		return t.ID, err
	}
	tenants, err := d.RunTenants(ctx, run)
	switch {
	case err != nil:
		return "", err
	case len(tenants) == 0:
		return "", notFound("run", "no tenant has a run with this id (see verifyctl run list)")
	case len(tenants) > 1:
		return "", fmt.Errorf("%s: required, because %d tenants have a run with this id", cli.Setting("tenant"), len(tenants))
	}
	return tenants[0], nil
}

// workflow returns a workflow of a tenant by its id or its stable name.
func (d *database) workflow(ctx context.Context, t verification.TenantID, nameOrID string) (workflow.Workflow, error) {
	if id, err := verification.ParseWorkflowID(nameOrID); err == nil {
		w, err := d.Workflow(ctx, t, id)
		if errors.Is(err, verification.ErrNotFound) {
			return w, notFound("workflow", "the tenant has no workflow with this id (see verifyctl workflow list)")
		}
		return w, err
	}
	found, err := all(func(q store.PageQuery) (store.Page[workflow.Workflow], error) {
		return d.Workflows(ctx, t, q)
	}, func(w workflow.Workflow) bool { return w.Slug == nameOrID })
	if err != nil {
		return workflow.Workflow{}, err
	}
	return only("workflow", found, fmt.Sprintf("the tenant has no workflow with the stable name %q (see verifyctl workflow list)", nameOrID),
		fmt.Sprintf("workflows have the stable name %q: give the id (see verifyctl workflow list)", nameOrID))
}

// Digits of a version's hash: how many tables show, and how many must be given at least.
const (
	shownDigits = 12
	minDigits   = 6
)

// short returns the beginning of a hash, as tables show it.
func short(hash string) string { return hash[:min(shownDigits, len(hash))] }

// version returns a version of a workflow by its hash, or by the beginning of its hash if
// no other version's hash begins with it.
func (d *database) version(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, hash string,
) (workflow.VersionInfo, error) {
	if len(hash) < minDigits {
		return workflow.VersionInfo{}, fmt.Errorf("VERSION: must be at least %d digits of the hash (see verifyctl workflow versions)", minDigits)
	}
	found, err := all(func(q store.PageQuery) (store.Page[workflow.VersionInfo], error) {
		return d.Versions(ctx, t, w, q)
	}, func(v workflow.VersionInfo) bool { return strings.HasPrefix(v.Hash, strings.ToLower(hash)) })
	if err != nil {
		return workflow.VersionInfo{}, err
	}
	return only("version", found, "the workflow has no version with this hash (see verifyctl workflow versions)",
		"versions begin with "+hash+": give more digits")
}

// only returns the only item found. none is the message if there is none; many follows the
// count if there are several.
func only[T any](subject string, found []T, none, many string) (one T, _ error) {
	switch len(found) {
	case 0:
		return one, notFound(subject, none)
	case 1:
		return found[0], nil
	}
	return one, verification.Conflict(subject, fmt.Sprintf("%d %s", len(found), many))
}

// all returns the items of every page that match.
func all[T any](list func(store.PageQuery) (store.Page[T], error), match func(T) bool) (found []T, _ error) {
	for offset, total := 0, 1; offset < total; offset += store.MaxLimit {
		p, err := list(store.PageQuery{Limit: store.MaxLimit, Offset: offset})
		if err != nil {
			return nil, err
		}
		total = p.Total
		found = append(found, slices.DeleteFunc(p.Data, func(item T) bool { return !match(item) })...)
	}
	return found, nil
}
