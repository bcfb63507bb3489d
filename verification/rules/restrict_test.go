package rules_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// officer is who restricts runs in these tests.
var officer = verification.Person{Name: "Meera", Identity: "meera"}

func TestARestrictionIsRefusedWhileTheRunIsNeeded(t *testing.T) {
	done := func() *journey { return begin(t, flows.DeskFlow(), "").submit(consents).pass() }
	for _, row := range []struct {
		name, reason string
		by           verification.Person
		j            *journey
		want         string
	}{
		{"unknown", "contested", officer, unstarted(t, flows.DeskFlow()), "run: not found"},
		{"live", "contested", officer, begin(t, flows.DeskFlow(), ""), "run: the run is live: cancel it, or wait for its end"},
		{"flagged", "contested", officer, begin(t, flows.DeskFlow(), "").submit(`{"consent_status":"declined"}`).pass(), "run: the run needs a verdict"},
		{"redacted", "contested", officer, done().redacted(), rules.ErrRedacted.Error()},
		{"without a reason", " ", officer, done(), "restriction: invalid: reason: is required"},
		{"too long a reason", strings.Repeat("x", 20_000), officer, done(), "restriction: invalid: reason: must be at most 10000 characters"},
		{"by nobody", "contested", verification.Person{Name: "x"}, done(), "restriction: invalid: identity: is required"},
	} {
		if got, err := rules.Restrict(row.j.run.ID, row.j.history, row.reason, row.by, row.j.now); err == nil || err.Error() != row.want || got != nil {
			t.Errorf("%s: Restrict = %d events, %v; want %s", row.name, len(got), err, row.want)
		}
	}
	for _, row := range []struct {
		name, reason string
		j            *journey
		want         string
	}{
		{"unknown", "settled", unstarted(t, flows.DeskFlow()), "run: not found"},
		{"not restricted", "settled", done(), rules.ErrNotRestricted.Error()},
		{"lifted", "settled", done().restricted().lifted(), rules.ErrNotRestricted.Error()},
		{"redacted since", "settled", done().restricted().redacted(), rules.ErrRedacted.Error()},
		{"without a reason", "", done().restricted(), "restriction: invalid: reason: is required"},
	} {
		if got, err := rules.LiftRestriction(row.j.run.ID, row.j.history, row.reason, officer, row.j.now); err == nil || err.Error() != row.want || got != nil {
			t.Errorf("%s: LiftRestriction = %d events, %v; want %s", row.name, len(got), err, row.want)
		}
	}
}

// restricted restricts a run that is over. Its history stays whole.
func (j *journey) restricted() *journey {
	j.t.Helper()
	return j.rewritten(rules.Restrict(j.run.ID, j.history, "contested by Asha", officer, j.now))
}

// lifted ends the restriction of a run.
func (j *journey) lifted() *journey {
	j.t.Helper()
	return j.rewritten(rules.LiftRestriction(j.run.ID, j.history, "Asha was right", officer, j.now))
}

func (j *journey) rewritten(history []rules.Event, err error) *journey {
	j.t.Helper()
	if err != nil || history == nil {
		j.t.Fatalf("%d events, %v", len(history), err)
	}
	j.history, j.run = history, rules.Fold(j.run.ID, history)
	return j
}

// shown returns the journey as it may be read.
func (j *journey) shown() *journey {
	shown := *j
	shown.history = rules.Shown(j.history)
	shown.run = rules.Fold(j.run.ID, shown.history)
	return &shown
}

func TestARestrictedRunTakesAVerdictAndHolds(t *testing.T) {
	j := begin(t, flows.DeskFlow(), "").submit(consents).pass()
	filed, before := j.report().Digest, j.now
	j.restricted()
	if again, err := rules.Restrict(j.run.ID, j.history, "again", officer, j.now); again != nil || err != nil {
		t.Errorf("again: %d events, %v, want nothing", len(again), err)
	}
	shown := j.shown()
	if got := shown.report(); got.Digest != filed || !got.Run.RestrictedAt.Equal(before) || got.Run.ReferenceID != "redacted" || !got.Run.RedactedAt.IsZero() {
		t.Errorf("the report has the digest %s, restricted at %v, of %q", got.Digest, got.Run.RestrictedAt, got.Run.ReferenceID)
	}
	for _, c := range []rules.Command{
		rules.AddNote{Notes: "x", By: "asha", Identity: "asha"},
		rules.Assign{To: rules.Assignee{Team: "seniors"}, By: "asha", Identity: "asha"},
		rules.Correct{Node: "pan", Field: "name", Correction: "x", By: "asha", Identity: "asha"},
		rules.RecordHits{Node: "pan", List: "l", ListVersion: "2", Hits: []verification.Hit{{ID: "e"}}},
		rules.DecideHit{Node: "pan", List: "l", Entry: "e", Match: rules.MatchOther, By: "asha", Identity: "asha"},
	} {
		if _, err := shown.try(c); !errors.Is(err, rules.ErrRestricted) {
			t.Errorf("%T = %v, want ErrRestricted", c, err)
		}
	}
	for _, c := range []rules.Command{
		rules.HoldRun{Reason: "in dispute", By: "asha", Identity: "asha"},
		rules.EndHold{By: "asha", Identity: "asha"},
		rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "Asha was seen.", By: "ravi"},
	} {
		j.after(time.Minute)
		events, _, err := rules.Decide(j.program, j.shown().run, c, j.now)
		if err != nil || len(events) != 1 {
			t.Fatalf("%T = %d events, %v", c, len(events), err)
		}
		j.rewritten(append(slices.Clip(j.history), events...), nil)
	}
	if got := j.shown().report(); got.Notes == "" || got.Decision != rules.DecisionReject || got.Digest == filed || !got.Run.RestrictedAt.Equal(before) {
		t.Errorf("the verdict: %q, %s, digest changed: %t, restricted at %s", got.Notes, got.Decision, got.Digest != filed, got.Run.RestrictedAt)
	}
	if got := j.restricted().shown().report(); got.Notes != "" || got.Decision != rules.DecisionReject || !got.Run.RestrictedAt.Equal(before) {
		t.Errorf("restricted again: %+v", got)
	}
	if got := j.lifted().report(); got.Notes == "" || got.Run.ReferenceID == "redacted" || !got.Run.RestrictedAt.IsZero() {
		t.Errorf("lifted: %+v", got)
	}
}

// restrictionHides: while a run is restricted, it reads as if it were redacted, and afterwards as before. A
// redaction of a restricted run leaves what a redaction of the run leaves.
func restrictionHides(t flows.Tester, j *journey) {
	t.Helper()
	history, err := rules.Restrict(j.run.ID, j.history, "contested", officer, j.now)
	if err != nil || history == nil {
		if errors.Is(err, verification.ErrInvalid) {
			t.Errorf("Restrict = %v", err)
		}
		return
	}
	kept := slices.Clone(j.history)
	equal(t, "the history of a restricted run", history[:len(kept)], kept)
	shown := rules.Shown(history)
	equal(t, "what is shown twice", rules.Shown(shown), shown)
	if j.run.Hold == (rules.Hold{}) && j.run.RestrictedAt.IsZero() {
		redacted, err := rules.Redact(j.run.ID, j.history, "", officer, j.now)
		if err != nil {
			t.Fatalf("Redact = %v", err)
		}
		n := len(kept)
		equal(t, "what is shown of a restricted run", shown[:n], redacted[:n])
		equal(t, "the restricted run", read(t, j, shown, false), read(t, j, redacted, false))
		after, err := rules.Redact(j.run.ID, history, "", officer, j.now)
		if err != nil {
			t.Fatalf("Redact of a restricted run = %v", err)
		}
		equal(t, "the redaction of a restricted run", after[:n], redacted[:n])
		equal(t, "the redacted run that was restricted", read(t, j, after, true), read(t, j, redacted, true))
	}
	back, err := rules.LiftRestriction(j.run.ID, history, "settled", officer, j.now)
	if err != nil || len(back) != len(history)+1 {
		t.Fatalf("LiftRestriction = %d events, %v", len(back), err)
	}
	equal(t, "all that is shown again", rules.Shown(back), back)
	if j.run.RestrictedAt.IsZero() {
		equal(t, "the run after its restriction", read(t, j, back, true), read(t, j, j.history, true))
	}
	equal(t, "the history that was restricted", j.history, kept)
}

// read returns all that is read of a history, as JSON, but for the times of restrictions and, unless redacted is
// set, of the redaction.
func read(t flows.Tester, j *journey, history []rules.Event, redacted bool) string {
	t.Helper()
	run := rules.Fold(j.run.ID, history)
	summary, detail, report := run.Summary(), run.Detail(j.now), rules.MakeReport(j.run.ID, history, j.now)
	for _, at := range []*time.Time{&summary.RestrictedAt, &detail.RestrictedAt, &report.Run.RestrictedAt} {
		*at = time.Time{}
	}
	if !redacted {
		for _, at := range []*time.Time{&summary.RedactedAt, &detail.RedactedAt, &report.Run.RedactedAt} {
			*at = time.Time{}
		}
	}
	detail.Seq = 0
	raw, err := json.Marshal([]any{
		summary, detail, report, report.Concerns, run.Steps, run.Documents, run.Verdict, run.Proposal, run.Assignment, run.ScreenedLists(),
		run.ClearedByOthers(), rules.EndNotice(run),
	})
	if err != nil {
		t.Fatalf("the run cannot be written: %v", err)
	}
	return string(raw)
}
