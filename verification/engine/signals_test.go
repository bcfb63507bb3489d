// Tests of verdicts, customers' answers, journeys and workflows.

package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAVerdictAtAReviewStepContinuesTheRun(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	run = k.Submit(run.ID, "consent_submitted", consent())
	if run.Decision != rules.DecisionReview || run.Action == nil || run.Action.SignalName != workflow.ReviewSignal {
		t.Fatalf("run = %+v, want it parked on review", run)
	}
	d, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionReject}, "")
	if err != nil || d.Result != engine.SignalDelivered || d.Decision != rules.DecisionReject {
		t.Errorf("verdict = %+v, %v; want it delivered", d, err)
	}
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	again, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionApprove}, "")
	if err != nil || again.Result != engine.SignalReviewRecorded {
		t.Errorf("verdict on the finished run = %+v, %v; want it recorded", again, err)
	}
	after := k.Run(run.ID)
	if after.Decision != rules.DecisionApprove || !after.CompletedAt.Equal(run.CompletedAt) {
		t.Errorf("run = %+v, want the new verdict and the old end", after)
	}
}

func TestAVerdictIsRefusedWhileTheCustomerIsAwaited(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionApprove}, "")
	if !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("verdict while the customer is awaited = %v, want ErrNotOpen", err)
	}
}

func TestRunsOfOtherTenantsAreNotFound(t *testing.T) {
	const other verification.TenantID = "00000000-0000-7000-8000-0000000000bb"
	k := enginetest.New(t)
	run := start(k, onboarding())
	for name, err := range map[string]error{
		"read":   second(k.Engine.Run(t.Context(), other, run.ID)),
		"report": second(k.Engine.Report(t.Context(), other, run.ID)),
		"cancel": second(k.Engine.Cancel(t.Context(), other, run.ID)),
		"verdict": second(k.Engine.GiveVerdict(t.Context(), other, run.ID,
			rules.GiveVerdict{Decision: rules.DecisionApprove}, "")),
		"submit": second(k.Engine.Submit(t.Context(), other, run.ID, engine.SubmitRequest{Signal: "consent_submitted"})),
		"start":  second(k.Engine.Start(t.Context(), other, run.WorkflowID, engine.StartRequest{ReferenceID: "x"})),
	} {
		if !errors.Is(err, verification.ErrNotFound) {
			t.Errorf("%s by another tenant = %v, want ErrNotFound", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestALinkLeadsToTheStepThatIsOpenNow(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.Nodes["consent"] = workflow.Node{Type: workflow.NodeConsent, Label: "Consent", Text: "We will check your PAN.", OnDeclined: "next", Next: "name"}
	d.Nodes["name"] = workflow.Node{
		Type: workflow.NodeCustomerInput, Next: "pan",
		Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Required: true}},
	}
	w := k.Apply(d)
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	token := linkToken(run)
	k.Advance(11 * time.Minute)
	if got := k.Run(run.ID); got.Status != rules.StatusAbandoned || got.Action.URL != run.Action.URL {
		t.Fatalf("after 11 idle minutes = %+v, want abandoned with the same link", got.RunView)
	}
	first, err := k.Engine.OpenJourney(t.Context(), token)
	if err != nil || first.Step == nil || first.Step.Label != "Consent" || first.Run.Status != rules.StatusInProgress ||
		first.Done != 0 || first.Total != 2 {
		t.Fatalf("open = %+v, %v; want the consent of a run in progress, the first of two steps", first, err)
	}
	answer := verification.Data(`{"consent_status":"success"}`)
	second, err := k.Engine.AnswerJourney(t.Context(), first, first.Step.WaitNumber, answer)
	if err != nil || second.Step == nil || second.Step.Node != "name" || second.Done != 1 || second.Total != 2 {
		t.Fatalf("answer = %+v, %v; want the second step", second, err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), second, first.Step.WaitNumber, answer); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("the same answer again = %v, want ErrNotOpen", err)
	}
	var refused *verification.Error
	_, err = k.Engine.AnswerJourney(t.Context(), second, second.Step.WaitNumber, verification.Data(`{"name":""}`))
	if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Name != "payload.name" {
		t.Errorf("an empty name = %v, want its field named", err)
	}
	if again, err := k.Engine.OpenJourney(t.Context(), token); err != nil || again.Step == nil || again.Step.Node != "name" {
		t.Errorf("the old link = %+v, %v; want the step that is open", again.Step, err)
	}
	if _, err := k.Engine.OpenJourney(t.Context(), "forged"); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a forged link = %v, want ErrNotFound", err)
	}
}

func TestAFinishedJourneyRedirectsTheCustomer(t *testing.T) {
	k := enginetest.New(t)
	if err := k.Store.SaveTenant(t.Context(), verification.Tenant{
		ID: enginetest.Tenant, Name: "Test", RedirectAllowlist: []string{"https://app.example/done"},
	}); err != nil {
		t.Fatal(err)
	}
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x", RedirectURI: "https://app.example/done?from=mail"})
	token := linkToken(run)
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	j, err := k.Engine.OpenJourney(t.Context(), token)
	if want := "https://app.example/done?from=mail&run_id=" + string(run.ID) + "&status=cancelled"; err != nil || j.Redirect != want || j.Step != nil {
		t.Errorf("journey = %+v, %v; want it to redirect to %s", j, err, want)
	}
}

func TestApplyingTheSameDefinitionChangesNothing(t *testing.T) {
	k := enginetest.New(t)
	first := k.Apply(chain("a"))
	again, err := k.Engine.Apply(t.Context(), enginetest.Tenant, chain("a"))
	if err != nil || again.Changed || again.Workflow != first {
		t.Errorf("apply again = %+v, %v; want nothing changed", again, err)
	}
	next := k.Apply(chain("a", "b"))
	if next.Versions != 2 || next.PublishedHash == first.PublishedHash {
		t.Errorf("apply a change = %+v, want a second version, published", next)
	}
	detail, err := k.Engine.Workflow(t.Context(), enginetest.Tenant, first.ID)
	if err != nil || len(detail.Checks) != 2 {
		t.Errorf("steps = %+v, %v; want those of the published version", detail.Checks, err)
	}
	third := k.Apply(chain("a"))
	if third.Versions != 2 || third.PublishedHash != first.PublishedHash || third.LatestHash != first.PublishedHash {
		t.Errorf("apply the first again = %+v, want its version back and no third", third)
	}
	k.Apply(chain("a", "b"))
	back, err := k.Engine.Publish(t.Context(), enginetest.Tenant, first.ID, first.PublishedHash)
	if err != nil || back.PublishedHash != first.PublishedHash {
		t.Errorf("publish the first = %+v, %v", back, err)
	}
}

func TestARunStaysOnTheVersionItStartedWith(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	run := start(k, chain("a"))
	k.Apply(chain("a", "b"))
	k.Advance(time.Second)
	if run = k.Run(run.ID); len(run.Checks) != 1 {
		t.Errorf("checks = %+v, want those of the first version", run.Checks)
	}
}

func TestADefinitionIsRefusedWithAllItsProblems(t *testing.T) {
	k := enginetest.New(t)
	d := chain("a")
	d.Name = ""
	d = with(d, "a", func(n *workflow.Node) { n.Provider = "nobody" })
	_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
	var refused *verification.Error
	if !errors.As(err, &refused) || len(refused.Fields) != 2 {
		t.Errorf("apply = %v, want both problems", err)
	}
}

func TestTheReviewOfARunIsItsOwn(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(onboarding())
	for range 2 {
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
		k.Submit(run.ID, "consent_submitted", consent())
		by := string(run.ID)
		if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{By: by, Name: by}); err != nil {
			t.Fatal(err)
		}
		review, err := k.Engine.Review(t.Context(), enginetest.Tenant, run.ID)
		if err != nil || review.Claim.Name != by {
			t.Errorf("review = %+v, %v; want the claim of %s", review, err, by)
		}
	}
}

func TestAReviewerObeysTheClaimOfAnother(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.FourEyes = true
	w := k.Apply(d)
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	k.Submit(run.ID, "consent_submitted", consent())
	claim := func(by string) {
		t.Helper()
		if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{By: by, Name: by}); err != nil {
			t.Fatal(err)
		}
	}
	give := func(by string, key string) error {
		_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{
			Decision: rules.DecisionApprove, By: by, Identity: by,
		}, key)
		return err
	}
	claim("asha")
	if err := give("ravi", ""); !errors.Is(err, rules.ErrClaimed) || !errors.Is(err, verification.ErrConflict) {
		t.Errorf("a verdict beside the claim of another = %v, want ErrClaimed", err)
	}
	if err := give("asha", "first"); err != nil {
		t.Errorf("a verdict of the one who has claimed the run = %v", err)
	}
	claim("ravi")
	err := k.Engine.ReturnProposal(t.Context(), enginetest.Tenant, run.ID, rules.ReturnProposal{By: "asha", Identity: "asha"})
	if !errors.Is(err, rules.ErrClaimed) {
		t.Errorf("sending a proposal back beside the claim of another = %v, want ErrClaimed", err)
	}
	if err := give("asha", "first"); err != nil {
		t.Errorf("a repetition beside the claim of another = %v, want the first result", err)
	}
	k.Advance(rules.ClaimTTL)
	if err := give("bela", ""); err != nil {
		t.Errorf("a verdict after the claim has ended = %v", err)
	}
}

func TestAProgramNeedsNoClaim(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	k.Submit(run.ID, "consent_submitted", consent())
	if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{By: "asha", Name: "asha"}); err != nil {
		t.Fatal(err)
	}
	_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionApprove, By: "acme"}, "")
	if err != nil {
		t.Errorf("a verdict by an API client = %v", err)
	}
}

func TestAClaimNeedsAPerson(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	k.Submit(run.ID, "consent_submitted", consent())
	if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{Name: "Asha"}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("claim = %v, want ErrInvalid", err)
	}
	if err := k.Engine.ReleaseClaim(t.Context(), enginetest.Tenant, run.ID, ""); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("release = %v, want ErrInvalid", err)
	}
}

// lostVersions is a store without the versions of workflows.
type lostVersions struct{ store.WorkflowStore }

func (lostVersions) Version(context.Context, verification.TenantID, verification.WorkflowID, string) (workflow.Version, error) {
	return workflow.Version{}, verification.Unavailable("workflow", "it cannot be read")
}

func TestARejectionWithoutAReasonNeedsNoVersion(t *testing.T) {
	k := enginetest.New(t)
	d := chain("a", "review")
	d.RejectReasons = []workflow.RejectReason{{Code: "listed", Label: "Is on the list"}}
	w := k.Apply(d)
	rejected := func(reason string) verification.RunID {
		id := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}).ID
		c := rules.GiveVerdict{Decision: rules.DecisionReject, Reason: reason}
		if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, id, c, ""); err != nil {
			t.Fatal(err)
		}
		return id
	}
	plain, listed := rejected(""), rejected("listed")
	if got, err := k.Engine.Rejection(t.Context(), enginetest.Tenant, listed); err != nil || got.Code != "listed" || got.Label != "Is on the list" {
		t.Errorf("the reason is %+v, %v; want the one of the workflow", got, err)
	}
	other := operator(t, k, func(p *engine.Ports) {
		p.Store = replace(k.Store, func(s *ports) { s.WorkflowStore = lostVersions{k.Store} })
	})
	if got, err := other.Rejection(t.Context(), enginetest.Tenant, plain); err != nil || got.Code != "" {
		t.Errorf("without a reason: %+v, %v; want none", got, err)
	}
	if _, err := other.Rejection(t.Context(), enginetest.Tenant, listed); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("a reason whose version cannot be read: %v, want it unavailable", err)
	}
}
