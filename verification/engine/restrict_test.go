// Tests of restriction: nothing personal is shown while it lasts, and everything afterwards.

package engine_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func restrict(t *testing.T, k *enginetest.Kit, run verification.RunID) rules.RunDetail {
	t.Helper()
	d, err := k.Engine.Restrict(t.Context(), enginetest.Tenant, run, "contested", eraser)
	if err != nil {
		t.Fatalf("Restrict = %v", err)
	}
	k.Settle()
	return d
}

func lift(t *testing.T, k *enginetest.Kit, run verification.RunID) {
	t.Helper()
	if _, err := k.Engine.LiftRestriction(t.Context(), enginetest.Tenant, run, "settled", eraser); err != nil {
		t.Fatalf("LiftRestriction = %v", err)
	}
	k.Settle()
}

// shown returns all that an engine shows of a run, but for the length of its history.
func shown(t *testing.T, k *enginetest.Kit, run verification.RunID) (texts string) {
	t.Helper()
	detail, err1 := k.Engine.Run(t.Context(), enginetest.Tenant, run)
	report, err2 := k.Engine.Report(t.Context(), enginetest.Tenant, run)
	history, err3 := k.Engine.History(t.Context(), enginetest.Tenant, run)
	runs, err4 := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	detail.Seq, history.Run.Seq = 0, 0
	events := history.Events
	for i := len(events) - 1; i >= 0 && rules.Rewrites(events[i:i+1]); i-- {
		events = events[:i]
	}
	for _, v := range []any{detail, report, history.Run, events, runs} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts += string(raw) + "\n"
	}
	return texts
}

func TestARestrictedRunShowsNothingPersonal(t *testing.T) {
	const canary = "Kanarienvogel"
	k := enginetest.New(t, holding, searching)
	run := lived(t, k, canary)
	found := func() int {
		t.Helper()
		total := 0
		for _, q := range []store.RunQuery{
			{Keys: k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch(canary))}, {ReferenceID: canary}, {ReferencePrefix: canary[:4]},
		} {
			q.PageQuery = store.PageQuery{Limit: 10}
			p, err := k.Engine.Runs(t.Context(), enginetest.Tenant, q)
			if err != nil {
				t.Fatal(err)
			}
			total += p.Total
		}
		return total
	}
	before := shown(t, k, run)
	h, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil || len(h.Run.Documents) != 1 || found() != 3 {
		t.Fatalf("%d documents, %v; the run is found %d times", len(h.Run.Documents), err, found())
	}
	document := h.Run.Documents[0].ID

	d := restrict(t, k, run)
	if d.RestrictedAt.IsZero() || !d.RedactedAt.IsZero() || d.ReferenceID != rules.RedactedReference {
		t.Errorf("Restrict = %+v", d)
	}
	other := enginetest.New(t, searching, func(p *engine.Ports, _ *engine.Options) { p.Store, p.Clock = k.Store, k.Clock })
	for _, host := range []*enginetest.Kit{k, other} {
		if text := shown(t, host, run); strings.Contains(text, canary) {
			t.Errorf("a canary is shown: %s", text)
		}
	}
	if n := found(); n != 0 {
		t.Errorf("the restricted run is found %d times", n)
	}
	if _, _, err := k.Engine.OpenDocument(t.Context(), enginetest.Tenant, run, document); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("OpenDocument = %v, want ErrNotFound", err)
	}
	if _, err := k.Engine.RemoveDocuments(t.Context(), enginetest.Tenant, run); !errors.Is(err, rules.ErrRestricted) {
		t.Errorf("RemoveDocuments = %v, want ErrRestricted", err)
	}
	k.Advance(25 * time.Hour) // when uploads are removed that no answer names
	full, err := k.Engine.HistoryInFull(t.Context(), enginetest.Tenant, run)
	if raw, _ := json.Marshal(full.Events); err != nil || strings.Count(string(raw), canary) < 5 || full.Run.RestrictedAt.IsZero() {
		t.Errorf("HistoryInFull = %s, %v", raw, err)
	}
	_, content, err := k.Engine.OpenDocumentInFull(t.Context(), enginetest.Tenant, run, document)
	if err != nil {
		t.Fatalf("OpenDocumentInFull = %v", err)
	}
	if raw, err := io.ReadAll(content); err != nil || string(raw) != canary {
		t.Errorf("the document is %q, %v", raw, err)
	}
	if text := shown(t, k, run); strings.Contains(text, canary) {
		t.Errorf("a read in full was cached: %s", text)
	}

	lift(t, k, run)
	for _, host := range []*enginetest.Kit{k, other} {
		if after := shown(t, host, run); after != before {
			t.Errorf("after the restriction\n%s\nwant\n%s", after, before)
		}
	}
	if n := found(); n != 3 {
		t.Errorf("after the restriction the run is found %d times, want 3", n)
	}
	if _, _, err := k.Engine.OpenDocument(t.Context(), enginetest.Tenant, run, document); err != nil {
		t.Errorf("OpenDocument after the restriction = %v", err)
	}
}

func TestARestrictedRunClearsNobody(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	asha := person{"asha-1", "ABCDE1234F", "ABCDE1234F"}
	run := asha.decided(t, k, w, "e-1")
	earlier := asha.begin(k, w)
	restrict(t, k, run)
	if later := asha.begin(k, w); later.Decision != rules.DecisionReview {
		t.Errorf("a hit is cleared by the decision of a restricted run: %+v", later)
	}
	wantDecision(t, k, "a run from before the restriction", earlier.ID, rules.DecisionNone)
	lift(t, k, run)
	if later := asha.begin(k, w); later.Decision == rules.DecisionReview {
		t.Errorf("the hit of a run after the restriction is not cleared: %+v", later)
	}
	// A verdict while the run is restricted counts for other runs once it is lifted.
	restrict(t, k, run)
	ruled(t, k, run, "ravi", rules.DecisionReject)
	wantDecision(t, k, "a run that rests on a restricted one", earlier.ID, rules.DecisionNone)
	lift(t, k, run)
	wantDecision(t, k, "a run that rests on a rejected one", earlier.ID, rules.DecisionReview)
}

func TestARestrictedRunIsScreenedAgainAfterwards(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	restricted, other, freed := start(k, screened()), start(k, screened()), start(k, screened())
	restrict(t, k, restricted.ID)
	restrict(t, k, freed.ID)
	lift(t, k, freed.ID) // before the list has changed
	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "while one run is restricted", s, once(other, freed))
	k.Advance(2 * time.Minute)
	lift(t, k, restricted.ID)
	k.Advance(2 * time.Minute)
	wantCalls(t, "after the restriction", s, once(restricted))
	wantDecision(t, k, "the run that was restricted", restricted.ID, rules.DecisionReview)
	if n := hitsOf(t, k.Store, restricted.ID); n != 1 {
		t.Errorf("the run has %d new hits", n)
	}
}

// TestAHostFindsWhatAnotherProgramHasLifted lifts a restriction with an engine that has no search key.
func TestAHostFindsWhatAnotherProgramHasLifted(t *testing.T) {
	k := enginetest.New(t, holding, searching)
	run := lived(t, k, "Asha")
	tool := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { p.Store, p.Clock, o.Passive = k.Store, k.Clock, true })
	found := func() int {
		p, err := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{
			PageQuery: store.PageQuery{Limit: 10}, Keys: k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("Asha")),
		})
		if err != nil {
			t.Fatal(err)
		}
		return p.Total
	}
	restrict(t, tool, run)
	if n := found(); n != 0 {
		t.Errorf("the restricted run is found %d times", n)
	}
	lift(t, tool, run)
	k.Settle()
	k.Advance(time.Minute)
	if n := found(); n != 1 {
		t.Errorf("the run is found %d times, want 1", n)
	}
}

func TestARestrictionWaitsForItsNotice(t *testing.T) {
	k := enginetest.New(t, holding)
	k.Notices.FailWith(errors.New("away"))
	run := lived(t, k, "Asha")
	_, err := k.Engine.Restrict(t.Context(), enginetest.Tenant, run, "contested", eraser)
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "a notice of the run is neither delivered nor given up") {
		t.Errorf("Restrict = %v, want the reason", err)
	}
	if got := k.Run(run); got.ReferenceID != "Asha" {
		t.Errorf("the refused restriction changed the run: %+v", got)
	}
}

func TestARestrictedRunCanBeRedacted(t *testing.T) {
	k := enginetest.New(t, holding, searching)
	run := lived(t, k, "Asha")
	restrict(t, k, run)
	ruled(t, k, run, "ravi", rules.DecisionReject)
	redact(t, k, run)
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run, 0)
	if raw, _ := json.Marshal(events); err != nil || strings.Contains(string(raw), "Asha") || strings.Contains(string(raw), "contested") {
		t.Errorf("what is left has the text: %s, %v", raw, err)
	}
	if _, err := k.Engine.LiftRestriction(t.Context(), enginetest.Tenant, run, "settled", eraser); !errors.Is(err, rules.ErrRedacted) {
		t.Errorf("LiftRestriction = %v, want ErrRedacted", err)
	}
}
