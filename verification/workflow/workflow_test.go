package workflow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

const hooks = "https://app.example/hooks"

func TestRunsExecuteThePublishedVersionElseTheLatest(t *testing.T) {
	for _, c := range []struct {
		w    workflow.Workflow
		want string
	}{
		{workflow.Workflow{}, ""},
		{workflow.Workflow{LatestHash: "two"}, "two"},
		{workflow.Workflow{LatestHash: "two", PublishedHash: "one"}, "one"},
	} {
		if got := c.w.Current(); got != c.want {
			t.Errorf("Current of %+v = %q, want %q", c.w, got, c.want)
		}
	}
}

func TestWebhookCanBeAddedNeverChanged(t *testing.T) {
	w := workflow.Workflow{ID: flows.WorkflowID, Revision: 3}
	next, err := w.WithWebhook(hooks)
	if err != nil || next.LifecycleWebhookURL != hooks || next.Revision != 4 || w.LifecycleWebhookURL != "" {
		t.Errorf("WithWebhook = %+v, %v", next, err)
	}
	for _, again := range []string{hooks, "https://other.example"} {
		if _, err := next.WithWebhook(again); !errors.Is(err, workflow.ErrHasWebhook) || flows.Outcome(nil, err) != "conflict" ||
			err.Error() != "workflow: a lifecycle webhook is already configured and cannot be changed" {
			t.Errorf("WithWebhook(%s) once more = %v, want a conflict", again, err)
		}
	}
	if _, err := next.WithWebhook("nonsense"); flows.Outcome(nil, err) != "invalid" {
		t.Errorf("WithWebhook(nonsense) = %v, want invalid", err)
	}
}

func TestWebhookCanBeRemovedIfThereIsOne(t *testing.T) {
	w := workflow.Workflow{ID: flows.WorkflowID, Revision: 3, LifecycleWebhookURL: hooks}
	next, err := w.WithoutWebhook()
	if err != nil || next.LifecycleWebhookURL != "" || next.Revision != 4 {
		t.Errorf("WithoutWebhook = %+v, %v", next, err)
	}
	if _, err := next.WithoutWebhook(); flows.Outcome(nil, err) != "conflict" {
		t.Errorf("WithoutWebhook once more = %v, want a conflict", err)
	}
}

func TestWebhookIsAnAbsoluteURL(t *testing.T) {
	for _, address := range []string{
		hooks, "https://a.example/" + strings.Repeat("é", 2030), "http://localhost", "https://a.example:65535/x?y=z", "http://[::1]:80/", "https://a.example/" + strings.Repeat("x", 2030),
	} {
		if err := workflow.ValidateWebhookURL(address); err != nil {
			t.Errorf("ValidateWebhookURL(%s) = %v, want it accepted", address, err)
		}
	}
	for _, address := range []string{
		"", "app.example/hooks", "/hooks", "//app.example", "ftp://app.example", "https://", "https:app.example", "https://:443",
		"https://user@app.example", "https://user:word@app.example", "https://app.example#part", "https://app.example:0",
		"https://app.example:65536", "https://app.example:999999", "https://app.example:x", "https://a.example/\n", "https://a b.example",
		"https://a.example/a b", "https://a.example/?q=a b", "https://a.example/\t", "https://a.example/\u0085", "https://a.example/\u00a0",
		"https://a.example/\u2028", " https://a.example",
	} {
		err := workflow.ValidateWebhookURL(address)
		want := "workflow: invalid: lifecycle_webhook_url: must be an absolute http(s) URL without user information or fragment"
		if flows.Outcome(nil, err) != "invalid" || err.Error() != want {
			t.Errorf("ValidateWebhookURL(%s) = %v, want invalid", address, err)
		}
	}
	err := workflow.ValidateWebhookURL("https://a.example/" + strings.Repeat("é", 2031))
	if want := "workflow: invalid: lifecycle_webhook_url: must be at most 2048 characters"; err == nil || err.Error() != want {
		t.Errorf("ValidateWebhookURL of 2049 characters = %v, want %s", err, want)
	}
}

// applied is a workflow with its versions, as a store would keep it.
type applied struct {
	t *testing.T
	w workflow.Workflow
}

func (a *applied) apply(d workflow.Definition) (added *workflow.Version, changed bool) {
	a.t.Helper()
	d.ID = flows.WorkflowID
	next, added, changed, err := a.w.Apply(d, flows.Noon().Add(time.Duration(a.w.Revision)*time.Hour))
	if err != nil {
		a.t.Fatalf("Apply: %v", err)
	}
	a.w = next
	return added, changed
}

func TestApplyMakesVersionsOfWhatIsNew(t *testing.T) {
	a := &applied{t: t}
	one, draft := flows.DeskFlow(), flows.Ladder()
	one.Description, one.LifecycleWebhookURL = "First.", hooks
	no := false
	draft.Publish, draft.Name, draft.RunTTLSeconds = &no, "Draft", 7

	added, changed := a.apply(one)
	want := workflow.Workflow{
		ID: flows.WorkflowID, Slug: "onboarding", Name: "Onboarding", Description: "First.", RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
		PublishedHash: one.VersionHash(), LatestHash: one.VersionHash(), Versions: 1, LifecycleWebhookURL: hooks, WebhookFromFile: true, CreatedAt: flows.Noon(), Revision: 1,
	}
	if diff := cmp.Diff(want, a.w); diff != "" || !changed {
		t.Fatalf("the first version (-want +got):\n%s", diff)
	}
	if added == nil || added.Number != 1 || added.Hash != one.VersionHash() || !added.CreatedAt.Equal(flows.Noon()) || added.Definition.Name != one.Name {
		t.Errorf("added = %+v, want version 1", added)
	}
	if added, changed := a.apply(one); added != nil || changed || a.w.Revision != 1 {
		t.Errorf("applied unchanged: %+v, %v at revision %d, want nothing", added, changed, a.w.Revision)
	}

	added, changed = a.apply(draft)
	want.LatestHash, want.Versions, want.Revision = draft.VersionHash(), 2, 2
	if diff := cmp.Diff(want, a.w); diff != "" || !changed || added == nil || added.Number != 2 {
		t.Errorf("a draft changes nothing but the latest version; added %+v (-want +got):\n%s", added, diff)
	}
	if added, changed := a.apply(draft); added != nil || changed {
		t.Errorf("the draft unchanged: %+v, %v, want nothing", added, changed)
	}

	draft.Publish = nil
	added, changed = a.apply(draft)
	want.PublishedHash, want.Name, want.Description, want.RunTTLSeconds, want.Revision = draft.VersionHash(), "Draft", "", 7, 3
	if diff := cmp.Diff(want, a.w); diff != "" || !changed || added != nil {
		t.Errorf("the draft published; added %+v (-want +got):\n%s", added, diff)
	}
}

func TestADraftIsShownIfNothingIsPublished(t *testing.T) {
	a, no := &applied{t: t}, false
	d := flows.DeskFlow()
	d.Publish = &no
	a.apply(d)
	if a.w.PublishedHash != "" || a.w.Current() != d.VersionHash() || a.w.Name != "Onboarding" {
		t.Errorf("workflow = %+v, want an unpublished one that runs its latest version", a.w)
	}
	d.Name = "Renamed"
	if a.apply(d); a.w.Name != "Renamed" || a.w.Versions != 2 {
		t.Errorf("workflow = %+v, want that of the second draft", a.w)
	}
}

func TestApplyReplacesOnlyTheWebhookOfADefinition(t *testing.T) {
	a := &applied{t: t}
	d := flows.DeskFlow()
	a.apply(d)
	d.LifecycleWebhookURL = hooks
	if added, changed := a.apply(d); added != nil || !changed || a.w.LifecycleWebhookURL != hooks {
		t.Errorf("a webhook alone: added %+v, changed %v, %s", added, changed, a.w.LifecycleWebhookURL)
	}
	d.LifecycleWebhookURL = ""
	if _, changed := a.apply(d); changed || a.w.LifecycleWebhookURL != hooks {
		t.Errorf("a definition without a webhook changed the workflow (%v), want the webhook kept", changed)
	}
	d.LifecycleWebhookURL = "https://other.example"
	if added, changed := a.apply(d); added != nil || !changed || a.w.LifecycleWebhookURL != d.LifecycleWebhookURL {
		t.Errorf("another webhook: added %+v, changed %v, %s, want it replaced", added, changed, a.w.LifecycleWebhookURL)
	}
	cleared, err := a.w.WithoutWebhook()
	if err == nil {
		a.w, err = cleared.WithWebhook(hooks)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _, changed, err := a.w.Apply(d, flows.Noon())
	if flows.Outcome(nil, err) != "conflict" || changed {
		t.Errorf("Apply with another webhook than that of a client = %v, want a conflict", err)
	}
	if d.LifecycleWebhookURL = hooks; a.w.WebhookFromFile {
		t.Error("the webhook of a client counts as that of a file")
	}
	if _, changed := a.apply(d); changed || a.w.WebhookFromFile {
		t.Errorf("the same webhook changed the workflow (%v), want it to stay that of the client", changed)
	}
}

func TestPublishGoesBackToAnEarlierVersion(t *testing.T) {
	a := &applied{t: t}
	one, two := flows.DeskFlow(), flows.Ladder()
	two.Name = "Two"
	first, _ := a.apply(one)
	a.apply(two)
	next, changed := a.w.Publish(*first)
	want := a.w
	want.PublishedHash, want.Name, want.Revision = first.Hash, "Onboarding", 3
	if diff := cmp.Diff(want, next); diff != "" || !changed {
		t.Errorf("Publish (-want +got):\n%s", diff)
	}
	if again, changed := next.Publish(*first); changed || again != next {
		t.Errorf("Publish again = %+v, %v, want no change", again, changed)
	}
}
