// Tests of the notices of events that a workflow asks for.

package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// told is what a notice says.
type told struct {
	ID       string
	Event    workflow.NoticeEvent
	Status   rules.Status
	Decision rules.Decision
}

// toldOf returns what the notices say, in the order of their ids, without repetitions.
func toldOf(run verification.RunID, notices []rules.Notice) (all []told) {
	for _, n := range notices {
		all = append(all, told{strings.TrimPrefix(n.ID, "run_"+string(run)), n.Event, n.Run.Status, n.Decision})
	}
	slices.SortFunc(all, func(a, b told) int { return strings.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

// asking starts a run that waits for a review, and asks for notices of events.
func asking(k *enginetest.Kit, events ...workflow.NoticeEvent) rules.RunDetail {
	d := onboarding()
	d.LifecycleWebhookURL, d.Notify = hooks, events
	run := start(k, d)
	k.Submit(run.ID, "consent_submitted", consent())
	return k.Run(run.ID)
}

func judge(t *testing.T, k *enginetest.Kit, run verification.RunID, d rules.Decision) {
	t.Helper()
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, rules.GiveVerdict{Decision: d, By: "acme"}, ""); err != nil {
		t.Fatal(err)
	}
	k.Settle()
}

func TestVerdictsAreAnnouncedWhereAWorkflowAsks(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeReviewed)
	judge(t, k, run.ID, rules.DecisionApprove)
	k.Advance(time.Minute)
	judge(t, k, run.ID, rules.DecisionReject)
	got := toldOf(run.ID, k.Notices.All())
	if len(got) != 3 {
		t.Fatalf("notices = %+v, want that of the end and of two verdicts", got)
	}
	want := []told{
		{"", "run.completed", rules.StatusCompleted, rules.DecisionApprove},
		{got[1].ID, workflow.NoticeReviewed, got[1].Status, rules.DecisionReject},
		{got[2].ID, workflow.NoticeReviewed, got[2].Status, rules.DecisionApprove},
	}
	slices.SortFunc(want[1:], func(a, b told) int { return strings.Compare(string(b.Status), string(a.Status)) })
	if got[1].Decision == rules.DecisionApprove {
		want[1].Decision, want[2].Decision = want[2].Decision, want[1].Decision
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	page, err := k.Engine.Deliveries(t.Context(), enginetest.Tenant, rules.DeliveryDelivered, store.PageQuery{Limit: 10})
	if err != nil || page.Total != 3 {
		t.Errorf("deliveries = %+v, %v, want all three", page, err)
	}
}

func TestWithoutNotifyOnlyTheEndIsAnnounced(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k)
	judge(t, k, run.ID, rules.DecisionApprove)
	judge(t, k, run.ID, rules.DecisionReject)
	want := []told{{"", "run.completed", rules.StatusCompleted, rules.DecisionApprove}}
	if diff := cmp.Diff(want, toldOf(run.ID, k.Notices.All())); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// A notice that is sent again is the same, whatever happened since.
func TestANoticeOfAVerdictSentAgainIsTheSame(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeReviewed)
	k.Notices.FailWith(errors.New("down"), errors.New("down"))
	judge(t, k, run.ID, rules.DecisionApprove)
	judge(t, k, run.ID, rules.DecisionReject)
	k.Advance(time.Hour)
	byID := map[string]rules.Notice{}
	for _, n := range k.Notices.All() {
		if n.Event != workflow.NoticeReviewed {
			continue
		}
		n.Attempt, n.At = 0, time.Time{}
		if first, again := byID[n.ID]; again {
			if diff := cmp.Diff(first, n); diff != "" {
				t.Errorf("the notice changed (-first +again):\n%s", diff)
			}
		}
		byID[n.ID] = n
	}
	if len(byID) != 2 {
		t.Errorf("there are %d notices of verdicts, want 2", len(byID))
	}
}

func TestANoticeOfAnEventIsRedelivered(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeReviewed)
	judge(t, k, run.ID, rules.DecisionApprove)
	var ref rules.NoticeRef
	for _, n := range k.Notices.All() {
		if n.Event == workflow.NoticeReviewed {
			ref = rules.NoticeRef{Run: run.ID, Seq: n.Seq}
		}
	}
	if parsed, err := rules.ParseNoticeRef(ref.ID()); err != nil || parsed != ref || ref.Seq == 0 {
		t.Fatalf("the notice is %+v; its ID is parsed to %+v, %v", ref, parsed, err)
	}
	before := len(k.Notices.All())
	if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, ref); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	if after := k.Notices.All(); len(after) != before+1 || after[before].ID != ref.ID() {
		t.Errorf("after the redelivery there are %d notices, want one more than %d, with the same id", len(after), before)
	}
	for _, seq := range []int{1, ref.Seq + 100, -1} {
		ref.Seq = seq
		if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, ref); !errors.Is(err, verification.ErrConflict) {
			t.Errorf("redeliver event %d = %v, want a conflict", seq, err)
		}
	}
}

func TestAnEventThatIsNotAskedForIsNotRedelivered(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeFlagged)
	judge(t, k, run.ID, rules.DecisionApprove)
	for seq := 1; seq <= k.Run(run.ID).Seq; seq++ {
		err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID, Seq: seq})
		if !errors.Is(err, verification.ErrConflict) {
			t.Errorf("redeliver event %d = %v, want a conflict", seq, err)
		}
	}
}

func TestHitsAfterTheEndAreAnnouncedWhereAWorkflowAsks(t *testing.T) {
	for _, asked := range []bool{false, true} {
		k := enginetest.New(t)
		d := chain("a")
		if d.LifecycleWebhookURL = hooks; asked {
			d.Notify = []workflow.NoticeEvent{workflow.NoticeFlagged}
		}
		run := start(k, d)
		recorded, err := k.Engine.RecordHits(t.Context(), enginetest.Tenant, run.ID, rules.RecordHits{
			Node: "a", List: "sanctions", ListVersion: "2", Hits: []verification.Hit{{ID: "1", Name: "N"}},
		})
		if err != nil || !recorded {
			t.Fatalf("RecordHits = %t, %v", recorded, err)
		}
		k.Settle()
		want := []told{{"", "run.completed", rules.StatusCompleted, ""}}
		if asked {
			want = append(want, told{"_" + lastSeq(k, run.ID), workflow.NoticeFlagged, rules.StatusCompleted, rules.DecisionReview})
		}
		if diff := cmp.Diff(want, toldOf(run.ID, k.Notices.All())); diff != "" {
			t.Errorf("asked %t: notices (-want +got):\n%s", asked, diff)
		}
	}
}

// lastSeq returns the number of the newest event of a run.
func lastSeq(k *enginetest.Kit, run verification.RunID) string {
	return strings.TrimPrefix(rules.NoticeRef{Run: run, Seq: k.Run(run).Seq}.ID(), "run_"+string(run)+"_")
}

func TestAClientIsToldOnceThatARunWasRedacted(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeRedacted)
	judge(t, k, run.ID, rules.DecisionApprove)
	k.Notices.FailWith(errors.New("away"), errors.New("away"))
	redact(t, k, run.ID)
	at := k.Run(run.ID).RedactedAt
	k.Advance(time.Minute)
	judge(t, k, run.ID, rules.DecisionReject)
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", eraser); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("while the notice is pending, Redact = %v, want ErrConflict", err)
	}
	k.Advance(time.Hour)
	redact(t, k, run.ID)
	if !k.Run(run.ID).RedactedAt.After(at) {
		t.Errorf("the notes of the verdict were not removed: redacted at %s", k.Run(run.ID).RedactedAt)
	}
	var all []rules.Notice
	for _, n := range k.Notices.All() {
		if n.Event == workflow.NoticeRedacted {
			n.Attempt, n.At = 0, time.Time{}
			all = append(all, n)
		}
	}
	if len(all) != 3 {
		t.Fatalf("%d attempts, want two that failed and one", len(all))
	}
	for _, n := range all {
		if diff := cmp.Diff(all[0], n); diff != "" {
			t.Errorf("another attempt reads otherwise (-first +this):\n%s", diff)
		}
	}
	n := all[0]
	if n.Run.ID != run.ID || n.Run.ReferenceID != rules.RedactedReference || !n.Run.RedactedAt.Equal(at) || !n.OccurredAt.Equal(at) || n.Decision != rules.DecisionApprove {
		t.Errorf("the notice is %+v", n)
	}
	again := rules.NoticeRef{Run: run.ID, Seq: len(must(k.Engine.History(t.Context(), enginetest.Tenant, run.ID)).Events)}
	if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, again); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("a notice of the second redaction = %v, want ErrConflict", err)
	}
}

// The host that redacts has read the workflow when it had no webhook, or another one.
func TestARedactionIsToldByTheWorkflowAsItIsNow(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.Notify = []workflow.NoticeEvent{workflow.NoticeRedacted}
	run := start(k, d)
	k.Submit(run.ID, "consent_submitted", consent())
	judge(t, k, run.ID, rules.DecisionApprove)
	if _, err := operator(t, k, nil).SetWebhook(t.Context(), enginetest.Tenant, run.WorkflowID, hooks); err != nil {
		t.Fatal(err)
	}
	redact(t, k, run.ID)
	if all := toldOf(run.ID, k.Notices.All()); len(all) != 1 || all[0].Event != workflow.NoticeRedacted {
		t.Errorf("notices = %+v, want that of the redaction", all)
	}
}

// A run that comes to need a verdict, and one that returns to its customer, are told on the same paths as any other event.
func TestANeedForAVerdictIsAnnounced(t *testing.T) {
	k := enginetest.New(t)
	run := asking(k, workflow.NoticeReviewNeeded, workflow.NoticeReturned)
	got := toldOf(run.ID, k.Notices.All())
	if len(got) != 1 || got[0].Event != workflow.NoticeReviewNeeded || got[0].Status != rules.StatusInProgress || got[0].Decision != rules.DecisionReview {
		t.Errorf("the notices are %+v, want that of the review", got)
	}
	judge(t, k, run.ID, rules.DecisionApprove)
	if got := toldOf(run.ID, k.Notices.All()); len(got) != 2 || got[0].Event != "run.completed" {
		t.Errorf("after the verdict the notices are %+v, want that of the end as well", got)
	}
}
