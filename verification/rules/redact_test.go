package rules_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// TestNothingPersonalIsLeftOfAnyFact fills every text of every fact with a canary, redacts it, and lists
// what is left, by field.
func TestNothingPersonalIsLeftOfAnyFact(t *testing.T) {
	// What is left: what the workflow says, what the software says, and who decided.
	kept := []string{
		"AskedAgain.By", "AskedAgain.Fields", "AskedAgain.From", "AskedAgain.Identity", "AskedAgain.Node", "AskedAgain.Reasons", "AskedAgain.Request",
		"Assigned.By", "Assigned.Identity", "Assigned.To.Person.Identity", "Assigned.To.Person.Name", "Assigned.To.Team",
		"BranchTaken.Next", "BranchTaken.Node", "BranchTaken.When", "CallbackReceived.Node", "Compared.Differs", "Compared.Node",
		"Completed.Lacking", "Completed.Node", "Completed.Outcome",
		"Corrected.By", "Corrected.Identity", "Corrected.Node", "Corrected.Request",
		"CustomerAwaited.Label", "CustomerAwaited.Node", "CustomerAwaited.Signal", "CustomerAwaited.Type",
		"CustomerSubmitted.Language", "CustomerSubmitted.Node", "CustomerSubmitted.Request", "DispatchFailed.Node",
		"Dispatched.Key", "Dispatched.Label", "Dispatched.Node", "Dispatched.Provider", "Dispatched.Rescreen",
		"DocumentUploaded.Field", "DocumentUploaded.MediaType", "DocumentUploaded.Node",
		"Expired.Error.Check", "Expired.Error.Code", "Expired.Error.Message",
		"Failed.Error.Check", "Failed.Error.Code", "Failed.Error.Message", "Failed.Node",
		"GroupBegan.Key", "GroupBegan.Label", "GroupBegan.Node", "GroupBegan.Screens.Label", "GroupBegan.Screens.Name", "GroupBegan.Type", "GroupDecided.Checks.Key", "GroupDecided.Checks.Label", "GroupDecided.Lacking", "GroupDecided.Node", "GroupDecided.Type",
		"Held.By", "Held.Identity", "HitDecided.By", "HitDecided.Identity", "HitDecided.List", "HitDecided.Match", "HitDecided.Node",
		"HitsCleared.Cleared.By", "HitsCleared.Cleared.Identity", "HitsCleared.Cleared.List", "HitsCleared.Cleared.ListVersion",
		"HitsCleared.Cleared.Node", "HitsCleared.Cleared.Run", "HitsCleared.Node",
		"HitsFound.List", "HitsFound.ListVersion", "HitsFound.Node", "HoldEnded.By", "HoldEnded.Identity", "JourneyOpened.Node", "NoAnswer.Node", "NoAnswer.Outcome", "NoteAdded.By", "NoteAdded.Identity",
		"PollFailed.Node", "ProposalReturned.By", "ProposalReturned.Decision", "ProposalReturned.Identity", "ProposalReturned.Node",
		"ProposalReturned.Reason", "ProposalReturned.Request", "Redacted.By", "Redacted.Digest", "Redacted.Identity", "Redacted.Reason", "Redirected.Node",
		"Restricted.By", "Restricted.Digest", "Restricted.Identity", "RestrictionLifted.By", "RestrictionLifted.Identity",
		"ResultPending.Node", "ResultRecorded.Node", "ResultRecorded.Screening.Cleared.By", "ResultRecorded.Screening.Cleared.Identity",
		"ResultRecorded.Screening.Cleared.List", "ResultRecorded.Screening.Cleared.ListVersion", "ResultRecorded.Screening.Cleared.Node",
		"ResultRecorded.Screening.Cleared.Run", "ResultRecorded.Screening.List", "ResultRecorded.Screening.ListVersion",
		"ResultUnavailable.Node", "Returned.Node", "ReviewAsked.Label", "ReviewAsked.Node",
		"Skipped.Next", "Skipped.Node", "Skipped.On",
		"Started.VersionHash", "Started.Workflow", "Started.WorkflowName", "Started.Zone",
		"VerdictProposed.By", "VerdictProposed.Decision", "VerdictProposed.Identity", "VerdictProposed.Node", "VerdictProposed.Reason", "VerdictProposed.Request",
		"VerdictRecorded.By", "VerdictRecorded.Decision", "VerdictRecorded.Identity", "VerdictRecorded.Node", "VerdictRecorded.Reason", "VerdictRecorded.Request",
	}
	var left []string
	for _, kind := range slices.Sorted(maps.Keys(allFacts())) {
		fact := reflect.New(reflect.TypeOf(allFacts()[kind].fact)).Elem()
		fillCanaries(fact)
		filled, ok := fact.Interface().(rules.Fact)
		if !ok {
			t.Fatalf("%s is no fact", kind)
		}
		history := []rules.Event{{At: flows.Noon(), Fact: rules.Started{}}, {At: flows.Noon(), Fact: filled}}
		if kind != "completed" && kind != "failed" && kind != "expired" && kind != "cancelled" {
			history = append(history, rules.Event{At: flows.Noon(), Fact: rules.Cancelled{}})
		}
		if kind == "held" {
			history = append(history, rules.Event{At: flows.Noon(), Fact: rules.HoldEnded{}})
		}
		if kind == "redacted" { // the next redaction keeps it
			history = append(history, rules.Event{At: flows.Noon(), Fact: rules.VerdictRecorded{Decision: rules.DecisionApprove}})
		}
		redacted, err := rules.Redact(flows.RunID, history, "", verification.Person{Name: "root"}, flows.Noon())
		if err != nil || len(redacted) != len(history)+1 {
			t.Fatalf("%s: Redact = %d events, %v", kind, len(redacted), err)
		}
		canariesIn(reflect.ValueOf(redacted[1].Fact), reflect.TypeOf(redacted[1].Fact).Name(), func(path string) {
			if !slices.Contains(left, path) {
				left = append(left, path)
			}
		})
	}
	slices.Sort(left)
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

const canary = "Kanarienvogel"

// fillCanaries sets every text to a canary, every list to one item, and every other value to something.
func fillCanaries(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(flows.Noon()))
			return
		}
		for i := range v.NumField() {
			fillCanaries(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillCanaries(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[verification.Data]() {
			v.SetBytes([]byte(`{"name":"` + canary + `","consent_status":"` + canary + `","source_ok":"` + canary + `","geo_ok":{"` + canary + `":1},"analysis_ok":false}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillCanaries(v.Index(0))
	case reflect.String:
		v.SetString(canary)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(fmt.Sprintf("a fact has a %s", v.Type()))
	}
}

// canariesIn calls found with the path of each text with a canary.
func canariesIn(v reflect.Value, path string, found func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			canariesIn(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			canariesIn(v.Elem(), path, found)
		}
	case reflect.Slice:
		if raw, ok := v.Interface().(verification.Data); ok {
			if strings.Contains(string(raw), canary) {
				found(path)
			}
			return
		}
		for i := range v.Len() {
			canariesIn(v.Index(i), path, found)
		}
	case reflect.String:
		if strings.Contains(v.String(), canary) {
			found(path)
		}
	default:
	}
}

func TestARedactionIsRefusedWhileTheRunIsNeeded(t *testing.T) {
	by := verification.Person{Name: "root"}
	for _, row := range []struct {
		name string
		j    *journey
		want string
	}{
		{"unknown", unstarted(t, flows.DeskFlow()), "run: not found"},
		{"live", begin(t, flows.DeskFlow(), ""), "run: the run is live: cancel it, or wait for its end"},
		{"in the queue", begin(t, flows.DeskFlow(), wantsOne).submit(consents).pass(), "run: the run is live: cancel it, or wait for its end"},
		{
			"held", begin(t, flows.DeskFlow(), "").submit(consents).pass().do(rules.HoldRun{Reason: "in dispute", By: "asha", Identity: "asha"}),
			"run: the run is under a hold",
		},
		{"flagged", begin(t, flows.DeskFlow(), "").submit(`{"consent_status":"declined"}`).pass(), "run: the run needs a verdict"},
	} {
		if got, err := rules.Redact(row.j.run.ID, row.j.history, "", by, row.j.now); err == nil || err.Error() != row.want || got != nil {
			t.Errorf("%s: Redact = %v, %v; want %s", row.name, got, err, row.want)
		}
	}
}

// redacted removes the personal data of a run that is over.
func (j *journey) redacted() *journey {
	j.t.Helper()
	history, err := rules.Redact(j.run.ID, j.history, "", verification.Person{Name: "root", Identity: "operator#root"}, j.now)
	if err != nil || history == nil {
		j.t.Fatalf("Redact = %d events, %v", len(history), err)
	}
	j.history, j.run = history, rules.Fold(j.run.ID, history)
	return j
}

func TestARedactedRunTakesOnlyAVerdict(t *testing.T) {
	j := begin(t, flows.DeskFlow(), "").submit(consents).pass()
	filed := j.report().Digest
	j.redacted()
	if got := j.report(); got.Digest != filed || !got.Run.RedactedAt.Equal(j.now) || got.Run.ReferenceID != "redacted" {
		t.Errorf("the report has the digest %s, redacted at %v, of %q", got.Digest, got.Run.RedactedAt, got.Run.ReferenceID)
	}
	for _, c := range []rules.Command{
		rules.AddNote{Notes: "x", By: "asha", Identity: "asha"},
		rules.Assign{To: rules.Assignee{Team: "seniors"}, By: "asha", Identity: "asha"},
		rules.Correct{Node: "pan", Field: "source_ok", Correction: "x", By: "asha", Identity: "asha"},
		rules.HoldRun{Reason: "x", By: "asha", Identity: "asha"},
		rules.RecordHits{Node: "pan", List: "l", ListVersion: "2", Hits: []verification.Hit{{ID: "e"}}},
		rules.DecideHit{Node: "pan", List: "l", Entry: "e", Match: rules.MatchOther, By: "asha", Identity: "asha"},
	} {
		if _, err := j.try(c); !errors.Is(err, rules.ErrRedacted) {
			t.Errorf("%T = %v, want ErrRedacted", c, err)
		}
	}
	if again, err := rules.Redact(j.run.ID, j.history, "", verification.Person{}, j.now); again != nil || err != nil {
		t.Errorf("again: %d events, %v, want nothing", len(again), err)
	}
	j.after(time.Hour).do(rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "Asha was seen.", By: "ravi"})
	if got := j.report(); got.Notes == "" || got.Decision != rules.DecisionReject || got.Digest == filed {
		t.Errorf("the verdict: %q, %s, digest changed: %t", got.Notes, got.Decision, got.Digest != filed)
	}
	decided := j.report().Digest
	if j.redacted(); j.report().Notes != "" || j.report().Decision != rules.DecisionReject || j.report().Digest != decided {
		t.Errorf("after the next redaction: %+v", j.report())
	}
}

func TestACompleteRedactionIsRecordedOnce(t *testing.T) {
	j := begin(t, flows.DeskFlow(), "").submit(consents).pass()
	record := func() int {
		t.Helper()
		events := rules.RecordErased(j.run, j.now)
		j.history, j.run = append(j.history, events...), j.run.EvolveAll(events)
		return len(events)
	}
	if n := record(); n != 0 {
		t.Errorf("of a run that was not redacted, %d events are recorded", n)
	}
	filed := j.report().Digest
	j.redacted().after(time.Hour)
	if n, again := record(), record(); n != 1 || again != 0 || !j.report().Run.ErasedAt.Equal(j.now) || j.report().Digest != filed {
		t.Errorf("%d events, then %d; the report has %+v and the digest %s, want %s", n, again, j.report().Run, j.report().Digest, filed)
	}
	if again, err := rules.Redact(j.run.ID, j.history, "", verification.Person{}, j.now); again != nil || err != nil {
		t.Errorf("again: %d events, %v, want nothing", len(again), err)
	}
	j.do(rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "Asha was seen.", By: "ravi"})
	decided := j.report().Digest
	if j.redacted(); !j.run.ErasedAt.IsZero() || j.report().Digest != decided || record() != 1 || j.report().Digest != decided {
		t.Errorf("after the next redaction: %+v, digest %s, want %s", j.report().Run, j.report().Digest, decided)
	}
}

func TestOldDocumentsAreRemovedLikeTheRest(t *testing.T) {
	history := recorded(t)["testdata/histories/uploaded.jsonl"]
	run := rules.Fold(flows.RunID, history)
	if _, err := rules.RemoveDocuments(rules.Fold(flows.RunID, history[:4]), flows.Noon()); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("of a live run: %v, want ErrConflict", err)
	}
	held := run.Evolve(rules.Event{At: flows.Noon(), Fact: rules.Held{Reason: "x"}})
	if _, err := rules.RemoveDocuments(held, flows.Noon()); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("of a run under a hold: %v, want ErrConflict", err)
	}
	events, err := rules.RemoveDocuments(run, flows.Noon())
	if err != nil || len(events) != 1 {
		t.Fatalf("RemoveDocuments = %d events, %v", len(events), err)
	}
	left := run.EvolveAll(events)
	if len(run.Documents) != 1 || len(left.Documents) != 0 || !left.DocumentsRemovedAt.Equal(flows.Noon()) || !left.RedactedAt.IsZero() {
		t.Errorf("%d documents before, %d after; removed at %v, redacted at %v", len(run.Documents), len(left.Documents), left.DocumentsRemovedAt, left.RedactedAt)
	}
	if again, err := rules.RemoveDocuments(left, flows.Noon()); again != nil || err != nil {
		t.Errorf("again: %d events, %v, want nothing", len(again), err)
	}
}

// redactionKeeps: a redaction keeps the status, the decision, the causes of flags, the statuses of cards and
// what lists show of a run, and changes nothing if it is refused.
func redactionKeeps(t flows.Tester, j *journey) {
	t.Helper()
	if j.run.Ended == "" {
		return
	}
	history, err := rules.Redact(j.run.ID, j.history, "", verification.Person{Name: "root"}, j.now)
	if j.run.Decision() == rules.DecisionReview {
		if !errors.Is(err, verification.ErrConflict) || history != nil {
			t.Errorf("a run that needs a verdict: Redact = %d events, %v", len(history), err)
		}
		return
	}
	if j.run.Hold != (rules.Hold{}) {
		if !errors.Is(err, verification.ErrConflict) || history != nil {
			t.Errorf("a run under a hold: Redact = %d events, %v", len(history), err)
		}
		return
	}
	switch j.history[len(j.history)-1].Fact.(type) {
	case rules.Redacted, rules.Erased:
		if history == nil && err == nil {
			return
		}
	}
	if err != nil || len(history) != len(j.history)+1 {
		t.Fatalf("Redact = %d events, %v", len(history), err)
	}
	type card struct {
		Node       verification.NodeID
		Status     rules.CardStatus
		Causes     []rules.Cause
		Dispatches int
		Visits     int
		Started    time.Time
		Completed  time.Time
	}
	seen := func(history []rules.Event) (all struct {
		Summary rules.Summary
		Cards   []card
		Counts  rules.ReportSummary
		Flags   int
		Digest  string
	},
	) {
		r := rules.MakeReport(j.run.ID, history, j.now)
		all.Summary, all.Counts, all.Flags, all.Digest = rules.Fold(j.run.ID, history).Summary(), r.Summary, len(r.Flags), r.Digest
		all.Summary.ReferenceID, all.Summary.RedactedAt, all.Summary.RestrictedAt = "", time.Time{}, time.Time{}
		for _, c := range r.Cards {
			all.Cards = append(all.Cards, card{c.NodeID, c.Status, c.Causes, c.Dispatches, len(c.Visits), c.StartedAt, c.CompletedAt})
		}
		return all
	}
	equal(t, "the run after its redaction", seen(history), seen(j.history))
	if left := rules.Fold(j.run.ID, history).Documents; len(left) > 0 {
		t.Errorf("a redacted run has the documents %+v", left)
	}
}

func TestTheReasonOfARedactionIsOneOfAFewWords(t *testing.T) {
	history := []rules.Event{{At: flows.Noon(), Fact: rules.Started{}}, {At: flows.Noon(), Fact: rules.Cancelled{}}}
	for _, reason := range append(rules.RedactReasons(), "") {
		redacted, err := rules.Redact(flows.RunID, history, reason, verification.Person{Name: "root"}, flows.Noon())
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if f, ok := redacted[2].Fact.(rules.Redacted); !ok || f.Reason != reason {
			t.Errorf("a redaction for %q is recorded as %+v", reason, redacted[2].Fact)
		}
	}
	if got, err := rules.Redact(flows.RunID, history, "Asha Rao asked", verification.Person{Name: "root"}, flows.Noon()); !errors.Is(err, verification.ErrInvalid) || got != nil {
		t.Errorf("a redaction for another reason = %d events, %v, want ErrInvalid", len(got), err)
	}
}
