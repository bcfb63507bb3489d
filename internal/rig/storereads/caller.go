// Random calls.

package storereads

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// What the random calls name.
const (
	Tenant   = verification.TenantID("a0000000-0000-7000-8000-000000000001")
	Workflow = verification.WorkflowID("c0000000-0000-7000-8000-000000000001")
	MaxRuns  = 6
)

// RunID returns the id of run number n.
func RunID(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
}

// Start is the time of the first call.
func Start() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC) }

// Caller calls a store at random, as an engine would.
type Caller struct {
	Noted

	now      time.Time
	work     []store.Work
	revision int
	programs map[verification.RunID]workflow.Program // of the runs whose histories are decided by the rules
}

// NewCaller returns a caller of no store, see Use.
func NewCaller() *Caller {
	return &Caller{Noted: Noted{Names: NewNames()}, now: Start(), programs: map[verification.RunID]workflow.Program{}}
}

// Use makes the calls that follow on a store.
func (c *Caller) Use(s store.Store) { c.Store, c.work = s, nil }

func (c *Caller) run(t *rapid.T) verification.RunID {
	return RunID(rapid.IntRange(0, MaxRuns-1).Draw(t, "run"))
}

func (c *Caller) ref(t *rapid.T) verification.RunRef {
	return verification.RunRef{Tenant: Tenant, Run: c.run(t)}
}

// SearchKey makes a search key.
func SearchKey(n int) (k store.SearchKey) {
	k[0], k[15] = 0xff, byte(n)
	return k
}

// entry returns an entry of the audit trail, which may be a count.
func (c *Caller) entry(t *rapid.T) store.AuditEntry {
	e := store.AuditEntry{
		Tenant: Tenant, At: c.now, Actor: verification.Actor{Kind: verification.ActorReviewer, ID: "asha", Name: "Asha"},
		Action: store.AuditVerdictGiven, Run: c.run(t), Detail: "approve",
	}
	e.ID = store.AuditID(e.At, string(e.Run))
	if n := rapid.IntRange(0, 3).Draw(t, "count"); n > 0 {
		e.Count, e.Action, e.LastAt, e.Detail = n, store.AuditRunRead, c.now, ""
		e.ID = store.AuditID(Start(), "reads-"+string(e.Run))
	}
	return e
}

// rewrite removes the personal data of a run, hides it, or shows it again, if that is allowed.
func (c *Caller) rewrite(t *rapid.T) error {
	id := c.run(t)
	history, err := c.Load(t.Context(), Tenant, id, 0)
	if err != nil {
		return err
	}
	by := verification.Person{Name: "root", Identity: "operator#root"}
	commit := store.Commit{
		Rewrite: true,
		Work:    store.DueWork{{Kind: store.WorkAdvance}: {}, {Kind: store.WorkExpire}: {}, {Kind: store.WorkRecheck}: {}, {Kind: store.WorkErase}: c.now},
	}
	switch rapid.SampledFrom([]string{"redact", "restrict", "restrict", "lift", "lift"}).Draw(t, "rewrite") {
	case "redact":
		commit.Events, err = rules.Redact(id, history, "", by, c.now)
	case "restrict":
		commit.Events, err = rules.Restrict(id, history, "contested", by, c.now)
	default:
		commit.Events, err = rules.LiftRestriction(id, history, "settled", by, c.now)
		commit.Keys = []store.SearchKey{SearchKey(2)}
		if run := rules.Fold(id, history); run.Ended == rules.StatusCompleted {
			commit.Screened = run.ScreenedLists()
		}
	}
	if err != nil || commit.Events == nil {
		return err
	}
	commit.Summary = rules.Fold(id, rules.Shown(commit.Events)).Summary()
	return c.Append(t.Context(), Tenant, id, len(history), commit)
}

// delete removes a run.
func (c *Caller) delete(t *rapid.T) error {
	id := c.run(t)
	history, err := c.Load(t.Context(), Tenant, id, 0)
	if err != nil {
		return err
	}
	return c.Append(t.Context(), Tenant, id, len(history), store.Commit{Summary: rules.Summary{Workflow: Workflow}, Delete: true})
}

// forget removes old records.
func (c *Caller) forget(t *rapid.T) error {
	ago := func(what string) time.Time {
		return rapid.SampledFrom([]time.Time{{}, c.now.Add(-time.Minute), c.now.Add(-48 * time.Hour)}).Draw(t, what)
	}
	before := store.Ages{Deliveries: ago("deliveries"), Measures: ago("measures"), Keys: ago("keys"), Audit: ago("audit"), Reads: ago("reads")}
	_, err := c.Forget(t.Context(), before, rapid.IntRange(1, 5).Draw(t, "limit"))
	return err
}

// some returns some of the work that was taken, which others may have by now.
func (c *Caller) some(t *rapid.T) store.Work {
	if len(c.work) == 0 {
		return store.Work{RunRef: c.ref(t), WorkKey: store.WorkKey{Kind: store.WorkAdvance}}
	}
	return rapid.SampledFrom(c.work).Draw(t, "work")
}

// Actions returns calls for rapid.T.Repeat. A call that is refused is no failure.
func (c *Caller) Actions(t *rapid.T) map[string]func(*rapid.T) {
	ctx := t.Context()
	request := func(t *rapid.T) store.IdempotencyRecord {
		return store.IdempotencyRecord{
			IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeSignal, Key: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "key"))},
			ID:             string(RunID(rapid.IntRange(0, 3).Draw(t, "id"))), At: c.now, Fingerprint: "a",
		}
	}
	refusable := func(f func(*rapid.T) error) func(*rapid.T) {
		return func(t *rapid.T) {
			if err := f(t); err != nil && !isExpected(err) {
				t.Fatal(err)
			}
		}
	}
	return map[string]func(*rapid.T){
		"wait":   func(t *rapid.T) { c.now = c.now.Add(rapid.SampledFrom(waits()).Draw(t, "for")) },
		"append": refusable(c.append), "rewrite": refusable(c.rewrite), "delete": refusable(c.delete),
		"forget": refusable(c.forget),
		"save a mark": refusable(func(t *rapid.T) error {
			at := store.StartedPosition{StartedAt: c.now, Run: c.run(t)}
			return store.Tables{RowStore: c}.SaveRetentionMark(ctx, store.RetentionMark{Tenant: Tenant, Workflow: Workflow, Redacted: at, Deleted: at})
		}),
		"claim": refusable(func(t *rapid.T) error {
			by := rapid.SampledFrom([]string{"asha", "bo"}).Draw(t, "by")
			_, err := c.Claim(ctx, Tenant, c.run(t), rules.Claim{By: by, Name: by, At: c.now, Until: c.now.Add(15 * time.Minute)})
			return err
		}),
		"take": refusable(func(t *rapid.T) error {
			key := rapid.SampledFrom(kinds()).Draw(t, "kind")
			work, _, err := c.Take(ctx, store.TakeRequest{Kind: key.Kind, List: key.List, Now: c.now, Lease: time.Minute, Max: 3, MaxPerTenant: 3})
			c.work = append(c.work, work...)
			return err
		}),
		"renew": refusable(func(t *rapid.T) error {
			return c.Renew(ctx, []verification.RunRef{c.ref(t)}, c.now.Add(time.Minute), rapid.Bool().Draw(t, "alone"))
		}),
		"finish":   refusable(func(t *rapid.T) error { return c.Finish(ctx, c.some(t)) }),
		"postpone": refusable(func(t *rapid.T) error { return c.Postpone(ctx, c.some(t), c.now.Add(time.Hour)) }),
		"release": refusable(func(t *rapid.T) error {
			work := []store.Work{c.some(t), c.some(t)}
			work[0].LeftAt = c.now
			if rapid.Bool().Draw(t, "whoever holds it") {
				work[1].Lease = ""
			}
			return c.Release(ctx, work, c.now)
		}),
		"hold a pass": refusable(func(t *rapid.T) error {
			_, err := c.HoldPass(ctx, store.RescreenPass{
				List: "sanctions", Version: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "version")),
				Holder: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"), HeldUntil: c.now.Add(3 * time.Minute),
			}, c.now)
			return err
		}),
		"claim a key": refusable(func(t *rapid.T) error {
			_, err := store.Tables{RowStore: c}.ClaimIdempotencyKey(ctx, Tenant, request(t))
			return err
		}),
		"settle a key": refusable(func(t *rapid.T) error {
			r := request(t)
			r.Result, r.Decision = "accepted", rules.DecisionApprove
			return store.Tables{RowStore: c}.SettleIdempotencyKey(ctx, Tenant, r)
		}),
		"release a key": refusable(func(t *rapid.T) error {
			return store.Tables{RowStore: c}.ReleaseIdempotencyKey(ctx, Tenant, request(t))
		}),
		"save a delivery": refusable(func(t *rapid.T) error {
			return store.Tables{RowStore: c}.SaveDelivery(ctx, Tenant, rules.Delivery{Run: c.run(t), State: rules.DeliveryPending, LastAt: c.now, Attempts: 1})
		}),
		"add to the audit trail": refusable(func(t *rapid.T) error { return c.AppendAudit(ctx, []store.AuditEntry{c.entry(t)}) }),
		"save a workflow": refusable(func(t *rapid.T) error {
			w := workflow.Workflow{ID: Workflow, Name: "Onboarding", CreatedAt: Start(), Revision: c.revision + rapid.IntRange(1, 2).Draw(t, "step")}
			err := c.SaveWorkflow(ctx, Tenant, w, &workflow.Version{Number: w.Revision, Hash: fmt.Sprint(w.Revision)})
			if err == nil {
				c.revision = w.Revision
			}
			return err
		}),
		"save a setup": refusable(func(t *rapid.T) error {
			w := workflow.Workflow{ID: Workflow, Name: "Set up", CreatedAt: Start(), Revision: c.revision + rapid.IntRange(1, 2).Draw(t, "step")}
			s := store.Setup{
				Tenants:   []verification.Tenant{{ID: Tenant, Name: "Set up"}},
				Accounts:  []verification.Account{{ClientID: "set up", Tenant: Tenant, FromFile: true}},
				Workflows: []store.WorkflowChange{{Tenant: Tenant, Workflow: w, Added: &workflow.Version{Number: w.Revision, Hash: fmt.Sprint(w.Revision)}}},
				Audit:     []store.AuditEntry{c.entry(t)}, DryRun: rapid.Bool().Draw(t, "dry run"),
			}
			err := c.SaveSetup(ctx, s)
			if err == nil && !s.DryRun {
				c.revision = w.Revision
			}
			return err
		}),
		"save a tenant": refusable(func(t *rapid.T) error {
			logo := rapid.SampledFrom([]verification.Logo{{}, verification.NewLogo("image/png", []byte{0x89, 'P', 'N', 'G', 0, 255})}).Draw(t, "logo")
			return store.Tables{RowStore: c}.SaveTenant(ctx, verification.Tenant{ID: Tenant, Name: "Zoë & Söhne <Bank>", Zone: "Asia/Kolkata", Logo: logo})
		}),
		"save an account": refusable(func(t *rapid.T) error {
			return store.Tables{RowStore: c}.SaveAccount(ctx, verification.Account{
				ClientID: fmt.Sprint("client ", rapid.IntRange(0, 3).Draw(t, "client")), Tenant: Tenant, Disabled: rapid.Bool().Draw(t, "disabled"),
				Surfaces: []verification.Surface{verification.SurfaceRuns},
			})
		}),
	}
}

func waits() []time.Duration {
	return []time.Duration{time.Microsecond, time.Second, 2 * time.Minute, 25 * time.Hour}
}

// isExpected reports whether a random call may fail in this way.
func isExpected(err error) bool {
	return errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrNotFound)
}
