// The clauses on workflows and their versions.

package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func workflows() []clause {
	const save = "WorkflowStore.SaveWorkflow: "
	return []clause{
		{"a workflow is returned as it was saved", save + "creates the workflow (Revision 1) or replaces it", workflowIsReturned},
		{"a version is returned as it was saved", "WorkflowStore.Version: returns a version by its hash", versionIsReturned},
		{"an unknown workflow or version is not found", "WorkflowStore.Workflow and Version: or ErrNotFound", unknownWorkflow},
		{"only its next revision replaces a workflow", save + "creates the workflow (Revision 1) or replaces it (the stored Revision is one less)", nextRevision},
		{"exactly one of concurrent saves of a workflow succeeds", save + "returns ErrConflict if the stored Revision differs", concurrentSaves},
		{"an append on an older revision is saved before a change of the workflow returns, or refused", save + "no Append that names an earlier revision changes what is read", savedBeforeChange},
		{"a refused save changes nothing", save + "together with a new version if there is one, all or nothing", refusedSave},
		{"a save with a cancelled context changes nothing", save + "all or nothing", cancelledSave},
		{"a version never changes", "WorkflowStore: keeps workflows and their immutable versions", versionsAreImmutable},
		{"versions are listed from the highest number", "WorkflowStore.Versions: one page of the versions of a workflow, without their definitions, highest number first", versionsInOrder},
		{"workflows are listed newest first, then by id from the highest", "WorkflowStore.Workflows: newest first by creation, ties by id from the highest", workflowsInOrder},
		{"two tenants have separate workflows", "WorkflowStore: every method is of one tenant", workflowsOfTwoTenants},
	}
}

func workflowID(n int) verification.WorkflowID {
	return verification.WorkflowID(fmt.Sprintf("c0000000-0000-7000-8000-%012x", n))
}

// workflow returns workflow number n in its first revision, with every field set.
func aWorkflow(n int) workflow.Workflow {
	return workflow.Workflow{
		ID: workflowID(n), Slug: fmt.Sprintf("onboarding-%d", n), Name: oddText, Description: oddText,
		RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, PublishedHash: "first", LatestHash: "second", Versions: 2,
		LifecycleWebhookURL: "https://app.example/hooks?a=1&b=2", WebhookFromFile: true, Retired: true, Retention: aRetention(), CreatedAt: instant(time.Duration(n) * tick), Revision: 1,
	}
}

// version returns version number n, with every field of every kind of node set.
func version(n int) workflow.Version {
	data, publish, low, high := verification.Data(oddData), false, -1.5, 1e9
	translated := workflow.Translations{"en": oddText, "hi": "नाम"}
	return workflow.Version{
		Number: n, Hash: fmt.Sprintf("hash-%d", n), CreatedAt: instant(time.Duration(n) * tick),
		Definition: workflow.Definition{
			Workflow: "onboarding", ID: onboarding, Name: oddText, Description: oddText,
			RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, ReviewDueMinutes: 240, FourEyes: true,
			Subject: &workflow.SubjectFields{
				Name: "steps.details.data.z", BirthDate: "steps.details.data.d", Number: "input.number", Portrait: "steps.details.data.i", Kind: workflow.FactPerson,
			},
			Compare: []workflow.Comparison{{Fact: oddText, Of: []string{"steps.details.data.z", "input.name"}, OnDifference: workflow.DifferenceFlag, Kind: workflow.FactText}},
			Intro:   &workflow.Intro{Text: oddText, TextIn: translated, Minutes: 3},
			RejectReasons: []workflow.RejectReason{
				{Code: "wrong_name", Label: oddText, LabelIn: translated, CustomerText: oddText, CustomerTextIn: translated}, {Code: "other", Label: "Other"},
			},
			ResubmitReasons: []workflow.RejectReason{
				{Code: "blurred", Label: oddText, LabelIn: translated},
			},
			Notes: workflow.NotesOnReject, LifecycleWebhookURL: "https://app.example/hooks", Notify: workflow.NoticeEvents(),
			Publish: &publish, Retired: true, Retention: aRetention(), InputSchema: data, Start: "consent",
			Nodes: map[verification.NodeID]workflow.Node{
				"consent": {Type: workflow.NodeConsent, Label: oddText, Next: "details", Signal: "agreed", Text: oddText, LabelIn: translated, TextIn: translated, OnDeclined: "done"},
				"details": {Type: workflow.NodeCustomerInput, Optional: true, MaxRounds: 5, Next: "pan", Fields: workflow.InputFields{
					{
						Name: "z", Type: workflow.FieldText, Label: oddText, LabelIn: translated, Help: oddText, HelpIn: translated, Required: true, RequiredMessage: oddText, RequiredMessageIn: translated,
						Pattern: `^[A-Z]{5}\d$`, PatternMessage: oddText, PatternMessageIn: translated, Uppercase: true, Search: true, AutoComplete: "name", MaxLength: 10,
					},
					{Name: "d", Type: workflow.FieldDate, MinDate: "1900-01-31", MaxDate: "-18y"},
					{Name: "i", Type: workflow.FieldImage, Camera: workflow.CameraFront},
					{Name: "a", Type: workflow.FieldNumber, Integer: true, Min: &low, Max: &high},
					{Name: "g", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "z", Type: workflow.FieldText}, {Name: "a", Type: workflow.FieldImage}}},
					{Name: "m", Type: workflow.FieldSelect, Options: []workflow.Option{{Value: "b", Label: oddText, LabelIn: translated}, {Value: "a"}}},
					{Name: "f", Type: workflow.FieldFile, Accept: []string{"image/png", "application/pdf"}},
					{Name: "l", Type: workflow.FieldLocation, Within: []workflow.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}}},
				}, Groups: []workflow.Screen{
					{Label: oddText, LabelIn: translated, Fields: []string{"z", "d", "i"}}, {Fields: []string{"a", "m", "f", "l"}},
				}},
				"pan": {
					Type: workflow.NodeCheck, Key: "pan_verification", Provider: "sandbox", With: data, TimeoutSeconds: 0.25,
					Retry: &workflow.Retry{MaxDispatches: 3, BackoffSeconds: 0.5, MaxBackoffSeconds: 8},
					Poll:  &workflow.Poll{IntervalSeconds: 0.2, TimeoutSeconds: 60}, Fallback: "other",
					OnFailed: workflow.TargetNext, OnUnavailable: "review", Next: "risk", RedirectHosts: []string{"*.bank.example"},
					Rescreen: &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange},
				},
				"address": {
					Element: &workflow.ElementFields{Name: "item.name", BirthDate: "item.dob", Kind: workflow.FactPerson},
					Type:    workflow.NodeChecks, When: "input.a > 1", ForEach: "input.list", Order: workflow.OrderOneByOne, Need: 2, Until: "member.passed",
					Finish: workflow.FinishAll, OnNotMet: "review", Next: "risk", Members: workflow.Members{
						{
							Name: "z", Label: oddText, LabelIn: translated, When: "input.b > 1", Key: "zed", Provider: "sandbox", With: data, TimeoutSeconds: 2.5,
							Retry: &workflow.Retry{MaxDispatches: 3}, Poll: &workflow.Poll{IntervalSeconds: 0.2}, Fallback: "other",
							Rescreen: &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange},
						},
						{Name: "a", Provider: "sandbox"},
					},
				},
				"risk": {Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
					{When: "input.a < 1 && input.b > 2", Next: "review"},
					{When: "input.a < 1", AskAgain: &workflow.AskAgain{Step: "details", Reasons: []string{"blurred"}, Fields: []string{"z"}, Note: oddText}, WhenUsedUp: "risk"},
				}},
				"review": {Type: workflow.NodeReview, Reason: oddText, FourEyes: true, OnReject: "done", Next: "done"},
				"done":   {Type: workflow.NodeEnd, Outcome: "done", Data: data},
			},
		},
	}
}

// saveWorkflow saves a workflow, with a version unless added is nil.
func (t *trial) saveWorkflow(tenant verification.TenantID, w workflow.Workflow, added *workflow.Version) {
	t.ok(fmt.Sprintf("SaveWorkflow(revision %d)", w.Revision), t.store.SaveWorkflow(t.ctx, tenant, w, added))
}

func (t *trial) refusedWorkflow(tenant verification.TenantID, w workflow.Workflow, added *workflow.Version) {
	err := t.store.SaveWorkflow(t.ctx, tenant, w, added)
	t.refused(fmt.Sprintf("SaveWorkflow(revision %d)", w.Revision), err, verification.ErrConflict)
}

// hasWorkflow ends the clause unless Workflow and Workflows return a workflow.
func (t *trial) hasWorkflow(tenant verification.TenantID, w workflow.Workflow) {
	got, err := t.store.Workflow(t.ctx, tenant, w.ID)
	t.ok("Workflow", err)
	same(t, "the workflow", got, w)
	p, err := t.store.Workflows(t.ctx, tenant, firstPage())
	t.ok("Workflows", err)
	var listed []workflow.Workflow
	for _, l := range p.Data {
		if l.ID == w.ID {
			listed = append(listed, l)
		}
	}
	same(t, "the workflow as it is listed", listed, []workflow.Workflow{w})
}

func (t *trial) hasVersion(tenant verification.TenantID, id verification.WorkflowID, v workflow.Version) {
	got, err := t.store.Version(t.ctx, tenant, id, v.Hash)
	t.ok("Version", err)
	same(t, "the version", got, v)
}

func (t *trial) lacksVersion(tenant verification.TenantID, id verification.WorkflowID, hash string) {
	_, err := t.store.Version(t.ctx, tenant, id, hash)
	t.refused("Version(an unknown one)", err, verification.ErrNotFound)
}

func workflowIsReturned(t *trial) {
	w, bare := aWorkflow(1), workflow.Workflow{ID: workflowID(2), Slug: "bare", CreatedAt: instant(0), Revision: 1}
	t.saveWorkflow(ours, w, nil)
	t.saveWorkflow(ours, bare, nil)
	t.hasWorkflow(ours, w)
	t.hasWorkflow(ours, bare)
	w.Name, w.PublishedHash, w.Versions, w.Revision = "Another", "", 3, 2
	t.saveWorkflow(ours, w, nil)
	t.hasWorkflow(ours, w)
	t.hasWorkflow(ours, bare)
}

func versionIsReturned(t *trial) {
	w, v, bare := aWorkflow(1), version(1), workflow.Version{
		Number: 2, Hash: "bare", CreatedAt: instant(time.Hour),
		Definition: workflow.Definition{
			Workflow: "bare", Start: "done",
			Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
		},
	}
	t.saveWorkflow(ours, w, &v)
	w.Revision = 2
	t.saveWorkflow(ours, w, &bare)
	t.hasVersion(ours, w.ID, version(1))
	t.hasVersion(ours, w.ID, bare)
}

func unknownWorkflow(t *trial) {
	v := version(1)
	t.saveWorkflow(ours, aWorkflow(1), &v)
	for _, tenant := range []verification.TenantID{ours, theirs} {
		_, err := t.store.Workflow(t.ctx, tenant, workflowID(2))
		t.refused("Workflow(an unknown one)", err, verification.ErrNotFound)
		t.lacksVersion(tenant, workflowID(2), v.Hash)
	}
	t.lacksVersion(ours, workflowID(1), "hash-2")
	t.lacksVersion(ours, workflowID(1), "")
}

func nextRevision(t *trial) {
	w := aWorkflow(1)
	at := func(revision int) workflow.Workflow {
		changed := w
		changed.Name, changed.Revision = "Another", revision
		return changed
	}
	t.refusedWorkflow(ours, at(2), nil)
	t.saveWorkflow(ours, w, nil)
	for _, revision := range []int{1, 3, 7} {
		t.refusedWorkflow(ours, at(revision), nil)
		t.hasWorkflow(ours, w)
	}
	w = at(2)
	t.saveWorkflow(ours, w, nil)
	t.refusedWorkflow(ours, at(2), nil)
	t.refusedWorkflow(ours, at(1), nil)
	t.hasWorkflow(ours, w)
}

func concurrentSaves(t *trial) {
	for revision := 1; revision <= 10; revision++ {
		mine := func(caller int) (workflow.Workflow, workflow.Version) {
			w, v := aWorkflow(1), version(revision)
			w.Revision, w.Name, v.Hash = revision, fmt.Sprintf("of caller %d", caller), fmt.Sprintf("hash-%d-%d", revision, caller)
			return w, v
		}
		errs := concurrently(func(caller int) error {
			w, v := mine(caller)
			return t.store.SaveWorkflow(t.ctx, ours, w, &v)
		})
		wins := 0
		for caller, err := range errs {
			w, v := mine(caller)
			switch {
			case err == nil:
				wins++
				t.hasWorkflow(ours, w)
				t.hasVersion(ours, w.ID, v)
			case errors.Is(err, verification.ErrConflict):
				t.lacksVersion(ours, w.ID, v.Hash)
			default:
				t.failf("concurrent SaveWorkflow: %w, want %q", err, verification.ErrConflict)
			}
		}
		same(t, fmt.Sprintf("how many of %d concurrent saves succeeded", callers), wins, 1)
	}
}

// savedBeforeChange changes the workflow of a run while the run ends.
func savedBeforeChange(t *trial) {
	const rounds = 100
	w := aWorkflow(1)
	w.ID = onboarding
	t.saveWorkflow(ours, w, nil)
	for n := range rounds {
		s := simple(n + 1)
		t.save(ours, s)
		end := s.then(time.Second, completed())
		c := end.only(time.Time{})
		c.Events, c.WorkflowRevision = end.events[len(s.events):], w.Revision
		w.Revision++
		var appended, saved, loaded error
		var seen []rules.Event
		calls := []func(){
			func() { appended = t.store.Append(t.ctx, ours, s.id, len(s.events), c) },
			func() {
				if saved = t.store.SaveWorkflow(t.ctx, ours, w, nil); saved == nil {
					seen, loaded = t.store.Load(t.ctx, ours, s.id, 0)
				}
			},
		}
		var both sync.WaitGroup
		both.Go(calls[n%2]) // each is the first of every other round
		both.Go(calls[1-n%2])
		both.Wait()
		t.ok("SaveWorkflow", saved)
		t.ok("Load", loaded)
		switch {
		case appended != nil:
			t.refused("Append with the revision before", appended, verification.ErrConflict)
			t.holds(ours, s)
		case len(seen) != len(end.events):
			t.failf("round %d: a run that had %d events after SaveWorkflow then had %d, by an Append that names the revision before",
				n, len(seen), len(end.events))
		}
	}
}

func refusedSave(t *trial) {
	w, v, late := aWorkflow(1), version(1), version(2)
	t.saveWorkflow(ours, w, &v)
	changed := w
	changed.Name = "Another"
	t.refusedWorkflow(ours, changed, &late)
	changed.Revision = 3
	t.refusedWorkflow(ours, changed, &late)
	t.hasWorkflow(ours, w)
	t.hasVersion(ours, w.ID, v)
	t.lacksVersion(ours, w.ID, late.Hash)
	other := aWorkflow(2)
	other.Revision = 2
	t.refusedWorkflow(ours, other, &late)
	t.lacksVersion(ours, other.ID, late.Hash)
	_, err := t.store.Workflow(t.ctx, ours, other.ID)
	t.refused("Workflow(whose save was refused)", err, verification.ErrNotFound)
}

func cancelledSave(t *trial) {
	w, v := aWorkflow(1), version(1)
	t.saveWorkflow(ours, w, nil)
	changed := w
	changed.Name, changed.Revision = "Another", 2
	if t.store.SaveWorkflow(cancelled(t.ctx), ours, changed, &v) == nil {
		t.failf("SaveWorkflow with a cancelled context succeeded, want an error")
	}
	t.hasWorkflow(ours, w)
	t.lacksVersion(ours, w.ID, v.Hash)
}

func versionsAreImmutable(t *trial) {
	w, first, second := aWorkflow(1), version(1), version(2)
	t.saveWorkflow(ours, w, &first)
	w.Revision = 2
	t.saveWorkflow(ours, w, &second)
	w.Revision = 3
	t.saveWorkflow(ours, w, nil)
	t.hasVersion(ours, w.ID, version(1))
	t.hasVersion(ours, w.ID, version(2))
	// A definition that returns to an earlier content has the earlier hash. Runs
	// that began with that version still find it unchanged.
	back := version(3)
	back.Hash, back.Definition.Name = first.Hash, "Another"
	w.Revision = 4
	t.saveWorkflow(ours, w, &back)
	t.hasVersion(ours, w.ID, version(1))
	t.hasWorkflow(ours, w)
}

func versionsInOrder(t *trial) {
	const n = 12
	w, other, others := aWorkflow(1), aWorkflow(2), version(n+1)
	t.saveWorkflow(ours, other, &others)
	var all []workflow.VersionInfo
	for i := range n {
		// The number is the order: neither hashes nor times increase.
		v := version(i + 1)
		v.Hash, v.CreatedAt = fmt.Sprintf("hash-%d", i*7%n), instant(time.Duration(i*5%n)*tick)
		w.Revision = i + 1
		t.saveWorkflow(ours, w, &v)
		all = append([]workflow.VersionInfo{{Number: v.Number, Hash: v.Hash, CreatedAt: v.CreatedAt}}, all...)
	}
	list := func(tenant verification.TenantID, id verification.WorkflowID) func(store.PageQuery) (store.Page[workflow.VersionInfo], error) {
		return func(p store.PageQuery) (store.Page[workflow.VersionInfo], error) {
			return t.store.Versions(t.ctx, tenant, id, p)
		}
	}
	pages(t, "Versions", all, list(ours, w.ID))
	page(t, "Versions of an unknown workflow", firstPage(), nil, list(ours, workflowID(3)))
	page(t, "Versions of another tenant's workflow", firstPage(), nil, list(theirs, w.ID))
}

func workflowsInOrder(t *trial) {
	const n = 25
	var all []workflow.Workflow
	for i := range n {
		// 7 has no divisor in common with 25: every number comes once.
		w := aWorkflow(i*7%n + 1)
		w.CreatedAt = instant(time.Duration((i*7%n)/3) * tick)
		all = append(all, w)
		t.saveWorkflow(ours, w, nil)
	}
	slices.SortFunc(all, func(a, b workflow.Workflow) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	// Another revision does not move a workflow.
	all[9].Revision, all[9].Name = 2, "Another"
	t.saveWorkflow(ours, all[9], nil)
	pages(t, "Workflows", all, func(p store.PageQuery) (store.Page[workflow.Workflow], error) {
		return t.store.Workflows(t.ctx, ours, p)
	})
}

func workflowsOfTwoTenants(t *trial) {
	mine, v := aWorkflow(1), version(1)
	t.saveWorkflow(ours, mine, &v)
	_, err := t.store.Workflow(t.ctx, theirs, mine.ID)
	t.refused("Workflow(of another tenant)", err, verification.ErrNotFound)
	t.lacksVersion(theirs, mine.ID, v.Hash)
	p, err := t.store.Workflows(t.ctx, theirs, firstPage())
	t.ok("Workflows", err)
	same(t, "the number of workflows of a tenant that has none", p.Total+len(p.Data), 0)
	changed := mine
	changed.Name, changed.Revision = "Theirs", 2
	t.refusedWorkflow(theirs, changed, nil)

	yours, other := aWorkflow(1), version(1)
	yours.Name, other.Definition.Name = "Theirs", "Theirs"
	t.saveWorkflow(theirs, yours, &other)
	changed.Name = "Ours"
	t.saveWorkflow(ours, changed, nil)
	t.hasWorkflow(ours, changed)
	t.hasWorkflow(theirs, yours)
	t.hasVersion(ours, mine.ID, v)
	t.hasVersion(theirs, mine.ID, other)
}
