package rules_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// journey is one run under a clock that the test advances.
type journey struct {
	t       flows.Tester
	program workflow.Program
	run     rules.Run
	history []rules.Event
	now     time.Time
	// about is the step that the commands of the matrix about the check are about; empty for the check itself.
	about verification.NodeID
	// measured are the measures of all commits of the history.
	measured []store.Measure
}

// unstarted is a run without history.
func unstarted(t flows.Tester, d workflow.Definition) *journey {
	t.Helper()
	return &journey{t: t, program: flows.Compile(t, d), run: rules.Run{ID: flows.RunID}, now: flows.Noon()}
}

// begin starts a run at noon.
func begin(t flows.Tester, d workflow.Definition, input string) *journey {
	t.Helper()
	return unstarted(t, d).do(rules.Start{ReferenceID: "customer-1", Input: flows.Data(t, input)})
}

// try decides a command and changes nothing. The run that was decided is the one that the events make.
func (j *journey) try(c rules.Command) ([]rules.Event, error) {
	j.t.Helper()
	events, after, err := rules.Decide(j.program, j.run, c, j.now)
	equal(j.t, fmt.Sprintf("the run after %T", c), after, j.run.EvolveAll(events))
	return events, err
}

// do decides a command that must not be refused, and keeps the run after it.
func (j *journey) do(c rules.Command) *journey {
	j.t.Helper()
	events, err := j.try(c)
	if err != nil {
		j.t.Fatalf("%T = %v, want no error", c, err)
	}
	before := j.run
	for _, e := range events {
		j.run = j.run.Evolve(e)
	}
	commit := store.NewCommit(before, j.run, events, time.UTC)
	elsewhere := store.NewCommit(rules.Fold(j.run.ID, j.history), j.run, events, time.UTC)
	equal(j.t, "the measures of a host that has read the history", elsewhere.Measures, commit.Measures)
	j.measured = append(j.measured, commit.Measures...)
	j.history = append(j.history, events...)
	return j
}

// fork returns a copy of the journey so far.
func (j *journey) fork() *journey {
	other := *j
	other.history, other.measured = slices.Clone(j.history), slices.Clone(j.measured)
	return &other
}

// after advances the clock.
func (j *journey) after(d time.Duration) *journey {
	j.now = j.now.Add(d)
	return j
}

// result records a result of the outstanding check.
func (j *journey) result(o verification.CheckOutcome, object string) *journey {
	j.t.Helper()
	w := j.run.Wait()
	return j.do(rules.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: o, Data: flows.Data(j.t, object)})
}

// screened records that the outstanding check has screened somebody.
func (j *journey) screened(r verification.ScreeningResult) *journey {
	j.t.Helper()
	w := j.run.Wait()
	return j.do(rules.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePassed, Screening: &r})
}

func (j *journey) pass() *journey { j.t.Helper(); return j.result(verification.OutcomePassed, "") }
func (j *journey) fail() *journey { j.t.Helper(); return j.result(verification.OutcomeFailed, "") }

// pend records a pending result.
func (j *journey) pend(handle string) *journey {
	j.t.Helper()
	w := j.run.Wait()
	return j.do(rules.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePending, Handle: handle,
	})
}

// noResult records that the provider returned no result.
func (j *journey) noResult(permanent bool) *journey {
	j.t.Helper()
	w := j.run.Wait()
	return j.do(rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: permanent, Cause: "timeout"})
}

// redispatch advances the clock to the retry and dispatches again.
func (j *journey) redispatch() *journey {
	j.t.Helper()
	j.now = j.run.Wait().At
	return j.do(rules.Redispatch{})
}

// submit delivers the customer's answer to the open signal.
func (j *journey) submit(payload string) *journey {
	j.t.Helper()
	return j.do(rules.Submit{Signal: j.run.Wait().Signal, Payload: flows.Data(j.t, payload)})
}

func (j *journey) approve(notes string) *journey {
	j.t.Helper()
	return j.do(rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: notes, By: "asha"})
}

func (j *journey) reject(notes string) *journey {
	j.t.Helper()
	return j.do(rules.GiveVerdict{Decision: rules.DecisionReject, Notes: notes, By: "ravi"})
}

// verdictBy is a verdict of a person.
func verdictBy(who string, d rules.Decision) rules.GiveVerdict {
	return rules.GiveVerdict{Decision: d, By: who, Identity: who}
}

// atProvider is a verdict of a person at an identity provider.
func atProvider(subject string, d rules.Decision) rules.GiveVerdict {
	return rules.GiveVerdict{Decision: d, By: subject + "@id.example", Identity: verification.IssuedIdentity("https://id.example", subject)}
}

// found records a hit of a later version of a list for the PAN check.
func (j *journey) found(id string) *journey {
	j.t.Helper()
	return j.do(rules.RecordHits{
		Node: "pan", List: "sanctions", ListVersion: "v2", Hits: []verification.Hit{{ID: id, Name: "Ivan Testov", Score: 0.9}},
	})
}

// propose has Asha propose to approve.
func (j *journey) propose() *journey {
	j.t.Helper()
	return j.do(rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: "seen", By: "asha", Identity: "asha"})
}

func (j *journey) cancel() *journey { j.t.Helper(); return j.do(rules.Cancel{}) }

func (j *journey) detail() rules.RunDetail { return j.run.Detail(j.now) }

func (j *journey) report() rules.Report {
	return rules.MakeReport(j.run.ID, j.history, j.now)
}

// status and decision are read the way a list reads them.
func (j *journey) status() rules.Status     { return j.run.Summary().StatusAt(j.now) }
func (j *journey) decision() rules.Decision { return j.run.Summary().DecisionAt(j.now) }

// card returns the card of a node.
func (j *journey) card(node verification.NodeID) rules.Card {
	j.t.Helper()
	for _, c := range j.report().Cards {
		if c.NodeID == node {
			return c
		}
	}
	j.t.Fatalf("the report has no card of %s", node)
	return rules.Card{}
}

// equal compares values with their unexported fields.
func equal(t flows.Tester, what string, got, want any) {
	t.Helper()
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, all); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// reasonsOnly compares flags and cards without their sentences, which properties compare
// with the reasons.
var reasonsOnly = cmp.Options{
	cmpopts.IgnoreFields(rules.Flag{}, "Sentences"), cmpopts.IgnoreFields(rules.Card{}, "Sentences"),
	cmpopts.IgnoreFields(rules.CardVisit{}, "Sentences"),
}

// sentencesSayTheReason: the sentences of flags, cards and visits are their reasons.
func sentencesSayTheReason(t flows.Tester, j *journey) {
	t.Helper()
	same := func(what, reason string, all []rules.Sentence) {
		texts := make([]string, len(all))
		for i, s := range all {
			if texts[i] = s.String(); texts[i] == "" || (s.Key == "") == (s.Text == "") || s.Key != "" && !slices.Contains(rules.SentenceKeys(), s.Key) {
				t.Errorf("%s has the sentence %+v, want a known key or a text", what, s)
			}
		}
		if said := strings.Join(texts, " "); said != reason {
			t.Errorf("%s says %q, and its sentences %q", what, reason, said)
		}
	}
	report := rules.MakeReport(j.run.ID, j.history, j.now)
	for _, f := range report.Flags {
		same("the flag of "+string(f.NodeID), f.Reason, f.Sentences)
	}
	for _, c := range report.Cards {
		same("the card of "+string(c.NodeID), c.Reason, c.Sentences)
		for _, v := range c.Visits {
			same("a visit of "+string(c.NodeID), v.Reason, v.Sentences)
		}
	}
}
