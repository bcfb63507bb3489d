// The row of the host in the database, which shows that it is alive.

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	heartbeatEvery   = 10 * time.Second
	heartbeatTimeout = 5 * time.Second
	skewLinesEvery   = time.Minute // between two lines in the log about the clock
)

// heartbeat renews the row of the host until ctx ends, and then removes it. It compares the
// clock now with the clock of the database. It ignores errors of the database, but returns an error with
// store.ErrLevel if an operator has raised the level of the store while this host was silent.
func (h *host) heartbeat(ctx context.Context, db *postgres.Store, now func() time.Time) error {
	bounded := func(f func(context.Context) error) error {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
		defer cancel()
		err := f(bounded)
		if err != nil {
			h.log.Debug("heartbeat failed", "host", h.me.ID, "error", err)
		}
		return err
	}
	defer func() { _ = bounded(func(ctx context.Context) error { return db.RemoveHost(ctx, h.me.ID) }) }() // it is logged
	var warned time.Time
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		err := bounded(func(ctx context.Context) error {
			facts := h.facts(ctx)
			if h.skew != nil {
				behind, err := pgadmin.Of(db).ClockSkew(ctx, now)
				if err != nil {
					return err
				}
				facts.ClockAhead = -behind
				h.skew.Set(facts.ClockAhead.Seconds())
				if facts.ClockAhead.Abs() > cli.MaxClockSkew && time.Since(warned) > skewLinesEvery {
					warned = time.Now()
					h.log.Warn("the clocks of this host and of the database differ; synchronize them, or runs expire at the wrong time",
						"ahead", facts.ClockAhead.Round(time.Millisecond))
				}
			}
			me := h.described()
			me.Facts = facts.String()
			return db.SaveHost(ctx, me)
		})
		if errors.Is(err, store.ErrLevel) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// describe returns a function that returns what hosts on one database must have in common.
func (h *host) describe(s Settings, o opened, search searchFacts) func(context.Context) cli.HostFacts {
	facts := cli.HostFacts{
		Providers: map[string]string{}, PublicURL: s.PublicURL, Build: h.build.String(),
		SearchKey: search.check, SearchKeyReplaced: search.replaced,
	}
	facts.Scripts, _ = o.printer.Scripts()
	for name := range o.providers.All {
		facts.Providers[name] = "" // of the program, unless the file declares it
	}
	maps.Copy(facts.Providers, declared(o.bootstrap))
	documents, identifies := o.documents.(verification.IdentifiedStore)
	return func(ctx context.Context) cli.HostFacts {
		if facts.Documents == "" && identifies {
			var err error
			if facts.Documents, err = documents.Identity(ctx); err != nil {
				h.log.Warn("the store of uploads cannot be identified", "error", err)
			}
		}
		now := facts
		now.Keys = h.keys.IDs() // a signal replaces them
		if c := h.storage.capacity; c != nil {
			c.describe(&now)
		}
		now.NoLedger, now.ErasuresFailed, now.EraseWithin = o.ledger == nil && !s.Memory, int(h.erased.Load()), s.EraseWithin
		now.LedgerProblem, now.LedgerOwed = h.ledger.found(), int(h.ledger.owed.Load())
		var since time.Time
		if now.RedactionsPending, since = h.engine.PendingRedactions(); now.RedactionsPending > 0 {
			now.RedactionPending = time.Since(since)
		}
		if now.RetentionGrace = s.RetentionGrace; s.Clock == "manual" {
			now.ManualClock = h.now()
		}
		now.RetentionLate, now.Unkeyed = h.retentionLate(), h.engine.UnkeyedWorkflows()
		now.Connections, now.ConnectionLimit = h.clients.counts()
		if f := h.storage.folder; f != nil {
			now.DiskFree, now.DiskReserve, _ = f.space.read() // unknown, both are 0 or the log says so
		}
		now.Lists, now.ShrunkLists = map[string]string{}, map[string]cli.ShrunkList{}
		for _, name := range h.lists.Names() {
			if waits := h.lists.Shrunk(name); waits != nil {
				now.ShrunkLists[name] = cli.ShrunkList(*waits)
			}
			now.Lists[name] = ""
			if l, _ := h.lists.List(name, time.Now()); l != nil {
				now.Lists[name] = l.Version
			}
		}
		return now
	}
}

// declared returns the hashes of the providers of a bootstrap file, which may be nil.
func declared(b *definitions.Bootstrap) map[string]string {
	all := map[string]string{}
	if b == nil {
		return all
	}
	for _, p := range b.Providers {
		all[p.Name] = hashOf(p.Declaration)
	}
	for _, t := range b.Tenants {
		for _, p := range t.Providers {
			all[string(t.Tenant.ID)+"/"+p.Name] = hashOf(p.Declaration)
		}
	}
	return all
}

// hashOf returns the start of the hash of a declaration, which names its secrets and does
// not contain them.
func hashOf(d verification.Data) string {
	sum := sha256.Sum256(d)
	return hex.EncodeToString(sum[:6])
}

// leave removes the row of a host that stops before its heartbeats begin, or has stopped.
func (h *host) leave(db *postgres.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTimeout)
	defer cancel()
	if err := db.RemoveHost(ctx, h.me.ID); err != nil {
		h.log.Debug("host not removed", "host", h.me.ID, "error", err)
	}
}

// described returns this host as the database lists it, without its facts.
func (h *host) described() postgres.Host {
	me := h.me
	if applied := h.applied.Load(); applied != nil {
		me.Bootstrap = *applied
	}
	return me
}

func (h *host) self(startedAt time.Time) postgres.Host {
	name := h.settings.HostName
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			name = "unknown"
		}
	}
	return postgres.Host{ID: newID(), Name: name, Roles: h.settings.Roles, Version: h.build.Version, Level: store.Level, StartedAt: startedAt}
}
