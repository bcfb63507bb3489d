// What operators name on the command line: tenants, workflows and versions.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// tenant finds a saved tenant by its id or its name. Without either it is the
// only one there is.
func (d *database) tenant(ctx context.Context, f tenantFlag) (verification.Tenant, error) {
	if id, err := verification.ParseTenantID(f.Tenant); err == nil {
		t, err := d.Tenant(ctx, id)
		if errors.Is(err, verification.ErrNotFound) {
			return t, notFound("tenant", "there is none of this id")
		}
		return t, err
	}
	all, err := d.Tenants(ctx)
	if err != nil {
		return verification.Tenant{}, err
	}
	var found []verification.Tenant
	for _, t := range all {
		if f.Tenant == "" || t.Name == f.Tenant {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return verification.Tenant{}, notFound("tenant", "there is none yet; verifyctl apply or verifyctl account create --tenant-name makes one")
	case f.Tenant == "":
		return verification.Tenant{}, fmt.Errorf("--tenant (VERIFYD_TENANT): must be given, for there are %d tenants (see verifyctl tenant list)", len(all))
	case len(found) == 0:
		return verification.Tenant{}, notFound("tenant", fmt.Sprintf("there is none of the name %q (see verifyctl tenant list)", f.Tenant))
	}
	return verification.Tenant{}, conflict("tenant", fmt.Sprintf("%d have the name %q: give the id (see verifyctl tenant list)", len(found), f.Tenant))
}

// tenantOf finds the tenant of a run: the one that was named, which need not be
// saved when it was named by its id; else the one that has the run.
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
		return "", notFound("run", "no tenant of verifyctl tenant list has one of this id")
	case len(tenants) > 1:
		return "", fmt.Errorf("--tenant (VERIFYD_TENANT): must be given, for %d tenants have a run of this id", len(tenants))
	}
	return tenants[0], nil
}

// workflow finds a workflow of a tenant by its id or its stable name.
func (d *database) workflow(ctx context.Context, t verification.TenantID, word string) (verification.Workflow, error) {
	if id, err := verification.ParseWorkflowID(word); err == nil {
		w, err := d.Workflow(ctx, t, id)
		if errors.Is(err, verification.ErrNotFound) {
			return w, notFound("workflow", "the tenant has none of this id")
		}
		return w, err
	}
	var found []verification.Workflow
	err := pages(func(q verification.PageQuery) (verification.Page[verification.Workflow], error) {
		return d.Workflows(ctx, t, q)
	}, func(w verification.Workflow) {
		if w.Slug == word {
			found = append(found, w)
		}
	})
	switch {
	case err != nil:
		return verification.Workflow{}, err
	case len(found) == 0:
		return verification.Workflow{}, notFound("workflow", fmt.Sprintf("the tenant has none of the name %q (see verifyctl workflow list)", word))
	case len(found) > 1:
		return verification.Workflow{}, conflict("workflow", fmt.Sprintf("%d have the name %q: give the id (see verifyctl workflow list)", len(found), word))
	}
	return found[0], nil
}

// The digits of a version's hash that tables show, and that must be given.
const (
	shownDigits = 12
	minDigits   = 6
)

// short is the beginning of a hash, as tables show it.
func short(hash string) string { return hash[:min(shownDigits, len(hash))] }

// version finds a version of a workflow by its hash, or by the beginning of one
// that no other has.
func (d *database) version(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, hash string,
) (verification.VersionInfo, error) {
	if len(hash) < minDigits {
		return verification.VersionInfo{}, fmt.Errorf("VERSION: must be %d digits of the hash or more (see verifyctl workflow versions)", minDigits)
	}
	var found []verification.VersionInfo
	err := pages(func(q verification.PageQuery) (verification.Page[verification.VersionInfo], error) {
		return d.Versions(ctx, t, w, q)
	}, func(v verification.VersionInfo) {
		if strings.HasPrefix(v.Hash, strings.ToLower(hash)) {
			found = append(found, v)
		}
	})
	switch {
	case err != nil:
		return verification.VersionInfo{}, err
	case len(found) == 0:
		return verification.VersionInfo{}, notFound("version", "the workflow has none of this hash (see verifyctl workflow versions)")
	case len(found) > 1:
		return verification.VersionInfo{}, conflict("version", fmt.Sprintf("%d begin with %s: give more digits", len(found), hash))
	}
	return found[0], nil
}

// pages calls each for everything in a list.
func pages[T any](list func(verification.PageQuery) (verification.Page[T], error), each func(T)) error {
	for offset, total := 0, 1; offset < total; offset += verification.MaxLimit {
		p, err := list(verification.PageQuery{Limit: verification.MaxLimit, Offset: offset})
		if err != nil {
			return err
		}
		total = p.Total
		for _, item := range p.Data {
			each(item)
		}
	}
	return nil
}
