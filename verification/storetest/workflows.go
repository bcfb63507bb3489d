// The clauses on workflows and their versions.

package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Workflows are the clauses on workflows and their versions.
func Workflows() []Clause {
	const save = "WorkflowStore.SaveWorkflow: "
	return []Clause{
		clause("a workflow comes back as it was saved",
			save+"creates the workflow or replaces it",
			workflowComesBack),
		clause("a version comes back as it was saved",
			"WorkflowStore.Version: returns one version by its hash",
			versionComesBack),
		clause("what was never saved is not found",
			"WorkflowStore.Workflow and Version: or ErrNotFound",
			unknownWorkflow),
		clause("a workflow is replaced by its next revision alone",
			save+"Revision 1 creates; else the stored Revision is one less; ErrConflict when another came first",
			nextRevision),
		clause("of saves that meet exactly one wins",
			save+"ErrConflict when another came first",
			savesMeet),
		clause("a refused save changes nothing",
			save+"together with a new version if there is one, all or nothing",
			refusedSave),
		clause("a save whose context is over changes nothing",
			save+"all or nothing",
			cancelledSave),
		clause("a version never changes",
			"WorkflowStore: keeps workflows and their immutable versions",
			versionsStay),
		clause("the versions of a workflow are listed, the highest number first",
			"WorkflowStore.Versions: one page of the versions of a workflow, the highest number first",
			versionsInOrder),
		clause("the newest workflow comes first, and of one moment the highest id",
			"WorkflowStore.Workflows: newest first by creation, ties by id from the highest",
			workflowsInOrder),
		clause("the workflows of two tenants are kept apart",
			"WorkflowStore: every method is of one tenant",
			workflowsApart),
	}
}

func workflowID(n int) verification.WorkflowID {
	return verification.WorkflowID(fmt.Sprintf("c0000000-0000-7000-8000-%012x", n))
}

// workflow is number n in its first revision, every field filled in.
func workflow(n int) verification.Workflow {
	return verification.Workflow{
		ID: workflowID(n), Slug: fmt.Sprintf("onboarding-%d", n), Name: prose, Description: prose,
		RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, Published: "first", Latest: "second", Versions: 2,
		LifecycleWebhookURL: "https://app.example/hooks?a=1&b=2", CreatedAt: moment(time.Duration(n) * tick), Revision: 1,
	}
}

// version is number n, every field of every kind of node filled in.
func version(n int) verification.Version {
	data, publish, low, high := verification.Data(odd), false, -1.5, 1e9
	return verification.Version{
		Number: n, Hash: fmt.Sprintf("hash-%d", n), CreatedAt: moment(time.Duration(n) * tick),
		Definition: verification.Definition{
			Workflow: "onboarding", ID: onboarding, Name: prose, Description: prose,
			RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, LifecycleWebhookURL: "https://app.example/hooks",
			Publish: &publish, InputSchema: data, Start: "consent",
			Nodes: map[verification.NodeID]verification.Node{
				"consent": {Type: verification.NodeConsent, Label: prose, Next: "details", Signal: "agreed", Text: prose, OnDeclined: "done"},
				"details": {Type: verification.NodeCustomerInput, Optional: true, Next: "pan", Fields: verification.InputFields{
					{Name: "z", Type: verification.FieldText, Label: prose, Help: prose, Required: true, Pattern: `^[A-Z]{5}\d$`, MaxLength: 10},
					{Name: "a", Type: verification.FieldNumber, Min: &low, Max: &high},
					{Name: "m", Type: verification.FieldSelect, Options: []verification.Option{{Value: "b", Label: "B"}, {Value: "a"}}},
					{Name: "f", Type: verification.FieldFile, Accept: []string{"image/png", "application/pdf"}},
					{Name: "l", Type: verification.FieldLocation, Within: []verification.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}}},
				}},
				"pan": {
					Type: verification.NodeCheck, Key: "pan_verification", Provider: "sandbox", With: data, TimeoutSeconds: 0.25,
					Retry: &verification.Retry{MaxDispatches: 3, BackoffSeconds: 0.5, MaxBackoffSeconds: 8},
					Poll:  &verification.Poll{IntervalSeconds: 0.2, TimeoutSeconds: 60}, Fallback: "other",
					OnFailed: verification.RouteNext, OnUnavailable: "review", Next: "risk",
				},
				"risk":   {Type: verification.NodeBranch, Rules: []verification.Rule{{When: "input.a < 1 && input.b > 2", Next: "review"}}, Else: "done"},
				"review": {Type: verification.NodeReview, Reason: prose, OnReject: "done", Next: "done"},
				"done":   {Type: verification.NodeEnd, Outcome: "done"},
			},
		},
	}
}

// keep saves a workflow, with a version or nil.
func (t *trial) keep(tenant verification.TenantID, w verification.Workflow, added *verification.Version) {
	if !t.over() {
		t.ok(fmt.Sprintf("SaveWorkflow(revision %d)", w.Revision), t.store.SaveWorkflow(t.ctx, tenant, w, added))
	}
}

func (t *trial) refusedWorkflow(tenant verification.TenantID, w verification.Workflow, added *verification.Version) {
	if !t.over() {
		err := t.store.SaveWorkflow(t.ctx, tenant, w, added)
		t.refused(fmt.Sprintf("SaveWorkflow(revision %d)", w.Revision), err, verification.ErrConflict)
	}
}

// keeps wants a workflow to be there as it was saved.
func (t *trial) keeps(tenant verification.TenantID, w verification.Workflow) {
	if t.over() {
		return
	}
	got, err := t.store.Workflow(t.ctx, tenant, w.ID)
	t.ok("Workflow", err)
	same(t, "the workflow", got, w)
	p, err := t.store.Workflows(t.ctx, tenant, verification.PageQuery{Limit: verification.MaxLimit})
	t.ok("Workflows", err)
	var listed []verification.Workflow
	for _, l := range p.Data {
		if l.ID == w.ID {
			listed = append(listed, l)
		}
	}
	same(t, "the workflow as it is listed", listed, []verification.Workflow{w})
}

func (t *trial) keepsVersion(tenant verification.TenantID, id verification.WorkflowID, v verification.Version) {
	if t.over() {
		return
	}
	got, err := t.store.Version(t.ctx, tenant, id, v.Hash)
	t.ok("Version", err)
	same(t, "the version", got, v)
}

func (t *trial) noVersion(tenant verification.TenantID, id verification.WorkflowID, hash string) {
	if !t.over() {
		_, err := t.store.Version(t.ctx, tenant, id, hash)
		t.refused("Version(never saved)", err, verification.ErrNotFound)
	}
}

func workflowComesBack(t *trial) {
	w, bare := workflow(1), verification.Workflow{ID: workflowID(2), Slug: "bare", CreatedAt: moment(0), Revision: 1}
	t.keep(ours, w, nil)
	t.keep(ours, bare, nil)
	t.keeps(ours, w)
	t.keeps(ours, bare)
	w.Name, w.Published, w.Versions, w.Revision = "Another", "", 3, 2
	t.keep(ours, w, nil)
	t.keeps(ours, w)
	t.keeps(ours, bare)
}

func versionComesBack(t *trial) {
	w, v, bare := workflow(1), version(1), verification.Version{
		Number: 2, Hash: "bare", CreatedAt: moment(time.Hour),
		Definition: verification.Definition{
			Workflow: "bare", Start: "done",
			Nodes: map[verification.NodeID]verification.Node{"done": {Type: verification.NodeEnd}},
		},
	}
	t.keep(ours, w, &v)
	w.Revision = 2
	t.keep(ours, w, &bare)
	t.keepsVersion(ours, w.ID, version(1))
	t.keepsVersion(ours, w.ID, bare)
}

func unknownWorkflow(t *trial) {
	v := version(1)
	t.keep(ours, workflow(1), &v)
	for _, tenant := range []verification.TenantID{ours, theirs} {
		if t.over() {
			return
		}
		_, err := t.store.Workflow(t.ctx, tenant, workflowID(2))
		t.refused("Workflow(never saved)", err, verification.ErrNotFound)
		t.noVersion(tenant, workflowID(2), v.Hash)
	}
	t.noVersion(ours, workflowID(1), "hash-2")
	t.noVersion(ours, workflowID(1), "")
}

func nextRevision(t *trial) {
	w := workflow(1)
	at := func(revision int) verification.Workflow {
		changed := w
		changed.Name, changed.Revision = "Another", revision
		return changed
	}
	t.refusedWorkflow(ours, at(2), nil)
	t.keep(ours, w, nil)
	for _, revision := range []int{1, 3, 7} {
		t.refusedWorkflow(ours, at(revision), nil)
		t.keeps(ours, w)
	}
	w = at(2)
	t.keep(ours, w, nil)
	t.refusedWorkflow(ours, at(2), nil)
	t.refusedWorkflow(ours, at(1), nil)
	t.keeps(ours, w)
}

func savesMeet(t *trial) {
	for revision := 1; revision <= 10 && !t.over(); revision++ {
		mine := func(caller int) (verification.Workflow, verification.Version) {
			w, v := workflow(1), version(revision)
			w.Revision, w.Name, v.Hash = revision, fmt.Sprintf("of caller %d", caller), fmt.Sprintf("hash-%d-%d", revision, caller)
			return w, v
		}
		errs := make([]error, meeting)
		together(func(caller int) {
			w, v := mine(caller)
			errs[caller] = t.store.SaveWorkflow(t.ctx, ours, w, &v)
		})
		wins := 0
		for caller, err := range errs {
			w, v := mine(caller)
			switch {
			case err == nil:
				wins++
				t.keeps(ours, w)
				t.keepsVersion(ours, w.ID, v)
			case errors.Is(err, verification.ErrConflict):
				t.noVersion(ours, w.ID, v.Hash)
			default:
				t.faultf("SaveWorkflow that met others: %w, want %q", err, verification.ErrConflict)
			}
		}
		same(t, fmt.Sprintf("how many of %d saves that met succeeded", meeting), wins, 1)
	}
}
