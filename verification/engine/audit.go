// The audit trail: who read runs, decided on them, or changed what they rest on.

package engine

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
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
	// countFor is how long reads of accounts are counted before the counts are saved.
	countFor = time.Minute
	// maxCounts bounds the counts that are not saved: they are saved at half as many. If the store does not take
	// them, further ones are lost, and logged.
	maxCounts = 20_000
)

// auditing has the reads that were recorded last, and the counts that are not saved.
type auditing struct {
	recent *lru.Cache[store.AuditEntry, time.Time] // by entry without ID and time

	mu     sync.Mutex
	counts map[store.AuditEntry]int // by entry without Count
	lost   int                      // since the last time that counts were saved
	stop   func() bool              // the timer, if there are counts
	saving sync.WaitGroup
}

func newAuditing() *auditing {
	return &auditing{
		recent: lru.New[store.AuditEntry](maxRecentReads, 1, func(time.Time) int { return 1 }),
		counts: map[store.AuditEntry]int{},
	}
}

// auditOf returns the entries of events that follow seq earlier ones. The actor is that of ctx, or else the person whom
// an event names.
func auditOf(ctx context.Context, ref verification.RunRef, seq int, events []rules.Event) (all []store.AuditEntry) {
	for i, event := range events {
		e, by := store.AuditEntry{}, verification.Person{}
		switch f := event.Fact.(type) {
		case rules.VerdictRecorded:
			e.Action, e.Detail, by = store.AuditVerdictGiven, string(f.Decision), verification.Person{Identity: f.Identity, Name: f.By}
		case rules.VerdictProposed:
			e.Action, e.Detail, by = store.AuditVerdictProposed, string(f.Decision), verification.Person{Identity: f.Identity, Name: f.By}
		case rules.ProposalReturned:
			e.Action, e.Detail, by = store.AuditVerdictProposed, "returned", verification.Person{Identity: f.Identity, Name: f.By}
		case rules.AskedAgain:
			if e.Action, by = store.AuditCustomerAsked, (verification.Person{Identity: f.Identity, Name: f.By}); by == (verification.Person{}) && f.Request == "" {
				continue // a branch asked
			}
			e.Detail = string(f.Node)
		case rules.HitDecided:
			e.Action, e.Detail, by = store.AuditHitDecided, string(f.Match), verification.Person{Identity: f.Identity, Name: f.By}
		case rules.Corrected:
			e.Action, by = store.AuditValueCorrected, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.Held:
			e.Action, by = store.AuditRunHeld, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.HoldEnded:
			e.Action, by = store.AuditHoldEnded, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.Redacted:
			e.Action, by = store.AuditRunRedacted, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.Restricted:
			e.Action, by = store.AuditRunRestricted, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.RestrictionLifted:
			e.Action, by = store.AuditRestrictionLifted, verification.Person{Identity: f.Identity, Name: f.By}
		case rules.Cancelled:
			e.Action = store.AuditRunCancelled
		default:
			continue
		}
		// The id has no randomness, so that an append that is sent again adds no second entry.
		e.Tenant, e.Run, e.At = ref.Tenant, ref.Run, event.At
		e.ID = store.AuditID(e.At, fmt.Sprintf("%s-%06d", ref.Run, seq+i))
		e.Actor = actorOf(ctx, by)
		all = append(all, e)
	}
	return all
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

// auditRead records a read. That of a person is in the audit trail once auditRead has returned nil, so that nobody reads
// what cannot be recorded. That of an account is counted in memory.
func (e *Engine) auditRead(ctx context.Context, entry store.AuditEntry) error {
	a, known := verification.ActorOf(ctx)
	switch {
	case !known || a.Kind == verification.ActorSystem:
		return nil
	case a.Kind == verification.ActorAccount:
		e.auditing.count(e, a, entry)
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
func (e *Engine) auditRun(ctx context.Context, ref verification.RunRef, action store.AuditAction) error {
	return e.auditRead(ctx, store.AuditEntry{Tenant: ref.Tenant, Action: action, Run: ref.Run})
}

// auditSearch records a search for the runs of a person. What was asked is in the entry as a keyed hash; without
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
	if e.Searches() {
		mac := hmac.New(sha256.New, e.opt.SearchKey)
		mac.Write([]byte(string(t) + "\x00audit\x00" + strings.ToLower(asked)))
		entry.Subject = hex.EncodeToString(mac.Sum(nil)[:16])
	}
	return e.auditRead(ctx, entry)
}

// count counts a read of an account: by account, action, run and day in UTC.
func (u *auditing) count(e *Engine, a verification.Actor, entry store.AuditEntry) {
	entry.Actor, entry.Document, entry.At = a, "", e.now().Truncate(24*time.Hour)
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.counts[entry]; n > 0 || len(u.counts) < maxCounts {
		u.counts[entry] = n + 1
	} else {
		u.lost++
	}
	switch {
	case u.stop == nil:
		u.saving.Add(1)
		u.stop = e.ports.Clock.AfterFunc(countFor, func() {
			defer u.saving.Done()
			u.save(context.Background(), e)
		})
	case len(u.counts) == maxCounts/2 && u.stop():
		u.stop = func() bool { return false } // until it is saved
		go func() {
			defer u.saving.Done()
			u.save(context.Background(), e)
		}()
	}
}

// save saves the counts. Those that the store does not take are counted on.
func (u *auditing) save(ctx context.Context, e *Engine) {
	u.mu.Lock()
	counts, lost := u.counts, u.lost
	u.counts, u.lost, u.stop = map[store.AuditEntry]int{}, 0, nil
	u.mu.Unlock()
	var all []store.AuditEntry
	for entry, n := range counts {
		sum := sha256.Sum256([]byte(string(entry.Actor.Kind) + "\x00" + entry.Actor.ID + "\x00" + string(entry.Action) + "\x00" + string(entry.Run) + "\x00" + entry.Subject))
		entry.ID, entry.Count = store.AuditID(entry.At, hex.EncodeToString(sum[:16])), n
		all = append(all, entry)
	}
	if lost > 0 {
		e.log.ErrorContext(ctx, "reads of accounts are missing in the audit trail", "reads", lost)
	}
	if len(all) == 0 {
		return
	}
	if err := e.ports.Store.AppendAudit(ctx, all); err != nil {
		e.log.WarnContext(ctx, "reads of accounts are not in the audit trail yet", "counts", len(all), "error", err)
		u.mu.Lock()
		defer u.mu.Unlock()
		for entry, n := range counts {
			u.counts[entry] += n
		}
	}
}

// close saves the counts, and waits until they are saved.
func (u *auditing) close(ctx context.Context, e *Engine) {
	u.mu.Lock()
	if u.stop != nil && u.stop() {
		u.saving.Done()
	}
	u.mu.Unlock()
	u.saving.Wait()
	u.save(ctx, e)
}
