// The bootstrap file.

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/definition"
	boot "github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

// readBootstrap reads the bootstrap file, or that of the demo for a host without a database
// and without one. It returns nil for a host on a database without one, and after a problem.
func (o *opened) readBootstrap(ctx context.Context, s settings, env *environment, p *problems) *definition.Bootstrap {
	file, open := s.Bootstrap, os.ReadFile
	switch {
	case o.demo != nil:
		file, open = "bootstrap.yaml", o.demo.read
	case file == "":
		return nil
	}
	raw, err := open(file)
	if err != nil {
		p.wrap("bootstrap", err)
		return nil
	}
	b, err := boot.Read(ctx, file, raw, open, env.get)
	if err != nil {
		p.other(err)
		return nil
	}
	if len(b.Tenants) == 0 {
		o.warnings = append(o.warnings, file+" has no tenant, so no client can call the API")
	}
	return &b
}

// apply applies a bootstrap file. It changes only what differs from the file, and logs
// what it changes in a store that is kept. It changes nothing in a database if live hosts run
// with a newer file, and then reports false.
func (h *host) apply(ctx context.Context, b definition.Bootstrap, p boot.Providers) (applied bool, err error) {
	var hash string
	if h.storage.keeps() && h.demo == nil {
		if hash, err = boot.Hash(b); err != nil {
			return false, err
		}
	}
	db := h.storage.database
	if db != nil {
		newer, err := boot.Newer(ctx, pgadmin.Of(db), hash, h.me.ID)
		if err != nil {
			return false, err
		}
		if newer.Hash != "" {
			h.log.Warn("the bootstrap file was not applied: live hosts run with a newer one; verifyctl apply makes this one the newest",
				"newer_applied_at", newer.AppliedAt)
			h.applied.CompareAndSwap(nil, &hash) // at a start; a reload leaves what was applied before
			return false, nil
		}
	}
	made := func(t verification.Tenant) {
		if h.storage.keeps() {
			h.log.Info("generated a webhook secret for a tenant; verifyctl webhook secret prints it", "tenant", t.ID, "name", t.Name)
		} else {
			h.log.Warn("generated a webhook secret that cannot be read; set webhook_secret in the bootstrap file", "tenant", t.ID, "name", t.Name)
		}
	}
	if h.demo != nil {
		made = func(verification.Tenant) {}
	}
	changes, err := boot.Apply(ctx, b, h.engine, h.storage, made)
	for _, c := range changes {
		for _, warning := range c.Warnings {
			h.log.Warn("a workflow may not say what is meant", "tenant", c.Tenant, "workflow", c.Name, "warning", warning)
		}
	}
	if !h.storage.keeps() || h.demo != nil {
		return err == nil, err
	}
	by := verification.Actor{Kind: verification.ActorSystem, Name: "bootstrap file"}
	if audit := h.storage.AppendAudit(ctx, boot.AuditOf(changes, by, h.now())); audit != nil {
		err = errors.Join(err, fmt.Errorf("add to the audit trail: %w", audit))
	}
	for _, c := range changes {
		switch c.Outcome {
		case boot.Unchanged:
		case boot.Disabled:
			h.log.Warn("disabled an account that the bootstrap file no longer lists", "tenant", c.Tenant, "client_id", c.Name)
		case boot.Created, boot.Changed:
			h.log.Info("applied the bootstrap file", "tenant", c.Tenant, "kind", c.Kind, "name", c.Name, "outcome", c.Outcome)
		}
	}
	if err != nil {
		return false, err
	}
	first := h.applied.Swap(&hash) == nil
	if db == nil {
		return true, boot.Record(ctx, h.operators, hash, boot.NamesOf(b, p))
	}
	// The host says first that it is alive: then a host with an older file finds both.
	if err := db.SaveHost(ctx, h.described()); err != nil {
		return false, err
	}
	if first {
		h.closing = append(h.closing, func() { h.leave(db) })
	}
	return true, boot.Record(ctx, pgadmin.Of(db), hash, boot.NamesOf(b, p))
}

// unlistedTimeout bounds the search for what the bootstrap file does not list.
const unlistedTimeout = time.Minute

// nameUnlisted logs what the store knows and the bootstrap file does not list.
func (h *host) nameUnlisted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, unlistedTimeout)
	defer cancel()
	found, err := boot.FindUnlisted(ctx, h.storage, h.names, time.Now())
	for _, u := range found {
		h.log.Warn("the bootstrap file does not list what the store knows", "kind", u.Kind, "count", len(u.Names), "names", u.String())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		h.log.Warn("what the bootstrap file does not list is not known in full", "error", err)
	}
}
