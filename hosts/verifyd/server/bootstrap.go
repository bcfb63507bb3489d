// The bootstrap file.

package server

import (
	"context"
	"errors"
	"os"
	"time"

	boot "github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// readBootstrap reads the bootstrap file, or that of the demo for a host without a database
// and without one. It returns nil for a host on a database without one, and after a problem.
func (o *opened) readBootstrap(ctx context.Context, s Settings, env *environment, p *problems) *definitions.Bootstrap {
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

// apply applies a bootstrap file, all of it or nothing. It changes only what differs from the file, and logs
// what it changes in a store that is kept. It changes nothing in a database if live hosts run
// with a newer file, and then reports false.
func (h *host) apply(ctx context.Context, b definitions.Bootstrap, p boot.Providers) (applied bool, err error) {
	db, before := h.storage.database, h.applied.Load()
	o := boot.Options{Made: h.generated}
	if h.storage.keeps() && h.demo == nil {
		hash, err := boot.Hash(b)
		if err == nil {
			o.File, err = boot.FileOf(hash, boot.NamesOf(b, p))
		}
		if err != nil {
			return false, err
		}
		o.By, o.Now = verification.Actor{Kind: verification.ActorSystem, Name: "bootstrap file"}, h.now
		o.Ready = func(ctx context.Context) error {
			h.applied.Store(&hash)
			if db == nil {
				return nil
			}
			return db.SaveHost(ctx, h.described()) // before the file is the newest: then a host with an older file finds both
		}
	}
	if db != nil {
		newer, err := boot.Newer(ctx, pgadmin.Of(db), o.File.Hash, h.me.ID)
		if err != nil {
			return false, err
		}
		if newer.Hash != "" {
			h.log.Warn("the bootstrap file was not applied: live hosts run with a newer one; verifyctl apply makes this one the newest",
				"newer_applied_at", newer.AppliedAt)
			h.applied.CompareAndSwap(nil, &o.File.Hash) // at a start; a reload leaves what was applied before
			return false, nil
		}
	}
	var to store.Store = h.storage
	if h.operators != nil {
		to = h.operators
	}
	policies, err := boot.RetentionChanges(ctx, b, h.engine)
	if err != nil {
		h.applied.Store(before)
		return false, err
	}
	changes, err := boot.Apply(ctx, b, h.engine, to, o)
	if err != nil {
		h.applied.Store(before)
		return false, err
	}
	if err := boot.NoteRetention(ctx, h.engine, policies); err != nil {
		h.log.Warn("retention: it is recorded later that policies changed", "error", err)
	}
	for _, c := range policies {
		h.log.Warn(c.Text(), "tenant", c.Tenant, "workflow", c.Workflow)
	}
	for _, c := range changes {
		for _, warning := range c.Warnings {
			h.log.Warn("a workflow may not say what is meant", "tenant", c.Tenant, "workflow", c.Name, "warning", warning.String())
		}
		if c.WebhookReplaced && o.Ready != nil {
			h.log.Info("replaced the lifecycle webhook of an earlier bootstrap file", "tenant", c.Tenant, "workflow", c.Name)
		}
		switch {
		case c.Outcome == boot.Unchanged || o.Ready == nil:
		case c.Outcome == boot.Disabled:
			h.log.Warn("disabled an account that the bootstrap file no longer lists", "tenant", c.Tenant, "client_id", c.Name)
		default:
			h.log.Info("applied the bootstrap file", "tenant", c.Tenant, "kind", c.Kind, "name", c.Name, "outcome", c.Outcome)
		}
	}
	return true, nil
}

// generated says that a webhook secret was generated for a tenant.
func (h *host) generated(t verification.Tenant) {
	switch {
	case h.demo != nil:
	case h.storage.keeps():
		h.log.Info("generated a webhook secret for a tenant; verifyctl webhook secret prints it", "tenant", t.ID, "name", t.Name)
	default:
		h.log.Warn("generated a webhook secret that cannot be read; set webhook_secret in the bootstrap file", "tenant", t.ID, "name", t.Name)
	}
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
