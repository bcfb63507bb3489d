// The audit trail: who read runs, decided on them, or changed what they rest on.

package engine

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	// readAgain is the time in which a person who reads the same again adds no entry to the audit trail: a page
	// reads a run several times.
	readAgain = time.Minute
	// maxRecentReads bounds the reads of people that are remembered for readAgain.
	maxRecentReads = 10_000
)

// auditOf returns the entries of events that follow seq earlier ones. The actor is that of ctx, or else the person whom
// an event names.
func auditOf(ctx context.Context, ref verification.RunRef, seq int, events []rules.Event) (all []store.AuditEntry) {
	for i, event := range events {
		about := event.About()
		if about.Audit == "" {
			continue
		}
		e := store.AuditEntry{Action: store.AuditAction(about.Audit), Detail: about.Detail}
		// The id has no randomness, so that an append that is sent again adds no second entry.
		e.Tenant, e.Run, e.At = ref.Tenant, ref.Run, event.At
		e.ID = store.AuditEventID(e.At, ref.Run, seq+i)
		e.Actor = actorOf(ctx, about.By)
		all = append(all, e)
	}
	return all
}

// auditOfDeletion returns the entry of the deletion of a run with a history of n events.
func auditOfDeletion(ctx context.Context, ref verification.RunRef, n int, at time.Time) []store.AuditEntry {
	return []store.AuditEntry{{
		Tenant: ref.Tenant, ID: store.AuditEventID(at, ref.Run, n), At: at, Run: ref.Run,
		Actor: actorOf(ctx, verification.Person{Name: retainer}), Action: store.AuditRunDeleted,
	}}
}

// actorOf returns the actor of ctx, or else a person; the system if neither is known.
func actorOf(ctx context.Context, by verification.Person) verification.Actor {
	a, known := verification.ActorOf(ctx)
	switch {
	case known:
		return a
	case by.Key() != "":
		return verification.ReviewerActor(by)
	}
	return verification.Actor{Kind: verification.ActorSystem, Name: by.Name}
}

// audit adds an entry about a use case of a person or an account to the audit trail. Use cases without an actor, such as
// the engine's own, add none.
func (e *Engine) audit(ctx context.Context, entry store.AuditEntry) error {
	a, known := verification.ActorOf(ctx)
	if !known || a.Kind == verification.ActorSystem {
		return nil
	}
	entry.Actor, entry.At = a, e.now()
	entry.ID = store.AuditID(entry.At, rand.Text())
	return e.ports.Store.AppendAudit(ctx, []store.AuditEntry{entry})
}

// auditRead records a read of what began at a time: the run, or the day. That of a person is in the audit trail once
// auditRead has returned nil, so that nobody reads what cannot be recorded. That of an account is counted.
func (e *Engine) auditRead(ctx context.Context, entry store.AuditEntry, began time.Time) error {
	a, known := verification.ActorOf(ctx)
	switch {
	case !known || a.Kind == verification.ActorSystem:
		return nil
	case a.Kind == verification.ActorAccount:
		e.auditing.count(e, countKey{entry.Tenant, entry.Run, entry.Action, a, began}, e.now())
		return nil
	}
	entry.Actor = a
	now := e.now()
	if at, ok := e.auditing.recent.Get(entry); ok && !now.Before(at) && now.Sub(at) < readAgain {
		return nil
	}
	if err := e.audit(ctx, entry); err != nil {
		return err
	}
	e.auditing.recent.Put(entry, now)
	return nil
}

// auditRun records a read of a run.
func (e *Engine) auditRun(ctx context.Context, ref verification.RunRef, run rules.Run, action store.AuditAction) error {
	return e.auditRead(ctx, store.AuditEntry{Tenant: ref.Tenant, Action: action, Run: ref.Run}, run.StartedAt)
}

// auditSearch records a search for the runs of a person. What a person asked is in the entry as a keyed hash; without
// Options.SearchKey, only that a search was made.
func (e *Engine) auditSearch(ctx context.Context, t verification.TenantID, q store.RunQuery) error {
	asked := q.ReferenceID
	if asked == "" {
		asked = q.ReferencePrefix
	}
	if len(q.Keys) > 0 {
		asked = store.FormatKeys(q.Keys)
	}
	if asked == "" {
		return nil
	}
	entry := store.AuditEntry{Tenant: t, Action: store.AuditPersonSearched}
	if a, _ := verification.ActorOf(ctx); a.Kind != verification.ActorAccount {
		entry.Subject = e.auditSubject(t, asked)
	}
	return e.auditRead(ctx, entry, dayOf(e.now()))
}

// auditSubject returns the keyed hash of what was asked in a search for a person, for the audit trail; empty without
// Options.SearchKey.
func (e *Engine) auditSubject(t verification.TenantID, asked string) string {
	if !e.Searches() {
		return ""
	}
	mac := hmac.New(sha256.New, e.opt.SearchKey)
	mac.Write([]byte(string(t) + "\x00audit\x00" + strings.ToLower(asked)))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
