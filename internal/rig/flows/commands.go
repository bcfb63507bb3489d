// The commands of random runs.

package flows

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// NextWait returns the time until the next command: often none, and often until a limit,
// exactly or just past it.
func NextWait(t *rapid.T, r rules.Run, now time.Time) time.Duration {
	waits := []time.Duration{0, 0, 1, time.Microsecond, 999 * time.Millisecond, time.Second, 5 * time.Minute}
	s := r.Summary()
	limits := []time.Time{s.ExpiresAt, s.AbandonAt}
	for _, w := range r.Waits {
		limits = append(limits, w.At, w.PendingSince.Add(time.Minute))
	}
	for _, limit := range limits {
		if until := limit.Sub(now); until >= 0 {
			waits = append(waits, until, until+1, until+time.Microsecond)
		}
	}
	return rapid.SampledFrom(waits).Draw(t, "wait")
}

// NextCommand returns a command that the run waits for, and sometimes any other one.
func NextCommand(t *rapid.T, p workflow.Program, r rules.Run) rules.Command {
	w := r.Wait()
	if len(r.Waits) > 1 {
		w = rapid.SampledFrom(r.Waits).Draw(t, "of")
	}
	if rapid.IntRange(0, 4).Draw(t, "stray") == 0 {
		return strayCommand(t, p, r)
	}
	switch w.Kind {
	case rules.WaitResult, rules.WaitPoll:
		if rapid.IntRange(0, 5).Draw(t, "callback") == 0 {
			return rules.RecordCallback{WaitNumber: w.Number, Digest: rapid.SampledFrom([]string{"0f", "10"}).Draw(t, "digest")}
		}
		return providerCommand(t, w.Node, w.Dispatch)
	case rules.WaitRetry:
		return rules.Redispatch{}
	case rules.WaitCustomer:
		return rules.Submit{Signal: w.Signal, Payload: Data(t, rapid.SampledFrom(payloads(r)).Draw(t, "payload"))}
	case rules.WaitReview, rules.WaitNothing:
		if w.Kind == rules.WaitReview && rapid.Bool().Draw(t, "asks again") {
			who := anyone(t)
			return rules.AskAgain{Step: askedStep(t, r), Reasons: []string{"other"}, By: who.Name, Identity: who.Identity}
		}
		for _, s := range r.Steps {
			if (len(s.Rescreened) > 0 || s.Screening != nil) && rapid.Bool().Draw(t, "decides a hit") {
				return decideCommand(t, s.Node)
			}
		}
		return verdictCommand(t)
	}
	return rules.Expire{}
}

// askedStep draws a step for which a customer may be asked again; empty for the last form.
func askedStep(t *rapid.T, r rules.Run) verification.NodeID {
	steps := []verification.NodeID{""}
	for _, s := range r.Steps {
		if s.Type == workflow.NodeConsent || s.Type == workflow.NodeCustomerInput {
			steps = append(steps, s.Node)
		}
	}
	return rapid.SampledFrom(steps).Draw(t, "asks for")
}

func providerCommand(t *rapid.T, node verification.NodeID, dispatch int) rules.Command {
	if rapid.IntRange(0, 3).Draw(t, "result_unavailable") == 0 {
		return rules.RecordFailure{
			Node: node, Dispatch: dispatch, Permanent: rapid.Bool().Draw(t, "permanent"),
			Cause: rapid.SampledFrom([]string{"", "timeout", "a\x00b\xff"}).Draw(t, "cause"),
		}
	}
	var found *verification.ScreeningResult
	if rapid.IntRange(0, 4).Draw(t, "screens") == 0 {
		found = &verification.ScreeningResult{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{{ID: "a", Name: "Ivan Testov", Score: 0.9}}}
	}
	return rules.RecordResult{
		Node: node, Dispatch: dispatch, Screening: found, Redirect: "https://sign.bank.example/in", Polled: true,
		Outcome: rapid.SampledFrom([]verification.CheckOutcome{
			verification.OutcomePassed, verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomePending,
			verification.OutcomeNoCoverage, verification.OutcomeInconclusive, verification.OutcomeRedirect, "perhaps",
		}).Draw(t, "outcome"),
		Data: Data(t, rapid.SampledFrom([]string{
			"", `{"name_match":0.5}`, `{"source_ok":false}`, `{"analysis_ok":false,"n":"<>"}`, `{"consent_status":"late"}`,
		}).Draw(t, "data")),
		Handle:    rapid.SampledFrom([]string{"ticket-1", "ticket-2", "", "a\x00"}).Draw(t, "handle"),
		PollAfter: rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Hour, 1 << 62}).Draw(t, "poll after"),
	}
}

// payloads returns answers of a customer. The last one of each type of step is invalid.
func payloads(r rules.Run) []string {
	const consents = `{"consent_status":"success"}`
	if s, _ := r.Step(r.Wait().Node); s.Type == workflow.NodeConsent {
		return []string{consents, consents, `{"consent_status":"declined"}`, `{"consent_status":true}`}
	}
	return []string{
		`{"pan":"ABCDE1234F"}`, `{"pan":"ABCDE1234F"}`, `{"opted_out":true}`,
		`{"pan":"ABCDE1234F","place":{"latitude":19,"longitude":72.9}}`,
		`{"pan":"ABCDE1234F","place":{"denied":true}}`, `{"pan":1}`,
	}
}

func verdictCommand(t *rapid.T) rules.Command {
	who := anyone(t)
	return rules.GiveVerdict{
		Reason:    rapid.SampledFrom([]string{"", "", "wrong_name", "other", "lost"}).Draw(t, "reason"),
		Justified: rapid.Bool().Draw(t, "justified"),
		Decision: rapid.SampledFrom([]rules.Decision{
			rules.DecisionApprove, rules.DecisionReject, rules.DecisionReview,
		}).Draw(t, "verdict"),
		Notes: rapid.SampledFrom([]string{"", "seen"}).Draw(t, "notes"), By: who.Name, Identity: who.Identity,
	}
}

func decideCommand(t *rapid.T, node verification.NodeID) rules.Command {
	who := anyone(t)
	return rules.DecideHit{
		Node: node, List: "sanctions", Entry: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "entry"),
		Digest: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "decided digest"),
		Match: rapid.SampledFrom([]rules.HitMatch{
			rules.MatchSame, rules.MatchOther, rules.MatchUnsure, "perhaps",
		}).Draw(t, "match"),
		Reason: rapid.SampledFrom([]string{"", "another year"}).Draw(t, "why"), By: who.Name, Identity: who.Identity,
	}
}

// Reviewers are the identities and names of three people: Asha, Ravi and a program. The
// first two have signed in in every way.
func Reviewers() map[verification.Person]string {
	return map[verification.Person]string{
		{Identity: "asha", Name: "asha"}:                        "Asha",
		{Identity: "\x00asha", Name: "Asha Rao"}:                "Asha",
		{Identity: "https://id.example#1", Name: "a@acme.test"}: "Asha",
		{Identity: "https://id.example#1", Name: "1"}:           "Asha",
		{Identity: "ravi", Name: "ravi"}:                        "Ravi",
		{Identity: "https://id.example#2", Name: "r@acme.test"}: "Ravi",
		{Name: "acme"}: "",
	}
}

// anyone draws one of them.
func anyone(t *rapid.T) verification.Person {
	all := slices.SortedFunc(maps.Keys(Reviewers()), func(a, b verification.Person) int {
		return strings.Compare(a.Identity+a.Name, b.Identity+b.Name)
	})
	return rapid.SampledFrom(all).Draw(t, "reviewer")
}

// strayCommand draws any command, whatever the run waits for.
func strayCommand(t *rapid.T, p workflow.Program, r rules.Run) rules.Command {
	node := rapid.SampledFrom(slices.Sorted(maps.Keys(p.Version.Definition.Nodes))).Draw(t, "node")
	dispatch, back := rapid.IntRange(0, 3).Draw(t, "dispatch"), anyone(t)
	commands := []rules.Command{
		rules.Start{ReferenceID: "customer-2"},
		providerCommand(t, node, dispatch),
		rules.RecordCallback{WaitNumber: r.Wait().Number, Digest: "0f"},
		rules.RecordReturn{WaitNumber: r.Wait().Number, Digest: "1f", Pending: dispatch > 1},
		rules.Redispatch{},
		rules.Abort{Node: node, Cause: "a template failed"},
		rules.OpenJourney{WaitNumber: rapid.SampledFrom([]int{0, 0, 1, r.Wait().Number}).Draw(t, "number")},
		rules.Submit{Signal: "details_submitted"},
		rules.Upload{WaitNumber: r.Wait().Number, Document: verification.Document{ID: "1", Field: "pan"}},
		verdictCommand(t),
		rules.ReturnProposal{Notes: "look again", By: back.Name, Identity: back.Identity},
		rules.AskAgain{Reasons: []string{"other"}, By: back.Name, Identity: back.Identity},
		rules.RecordHits{Node: node, List: "sanctions", Hits: []verification.Hit{{
			ID: rapid.SampledFrom([]string{"a", "b", "\x00a"}).Draw(t, "hit"), Digest: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "digest of the hit"),
		}}},
		decideCommand(t, node),
		rules.Cancel{},
		rules.Expire{},
		rules.AddNote{Notes: "called", By: back.Name, Identity: back.Identity},
		rules.Correct{
			Node: node, Field: rapid.SampledFrom([]string{"consent_status", "name"}).Draw(t, "field"), Correction: "no",
			By: back.Name, Identity: back.Identity,
		},
		rules.HoldRun{Reason: "in dispute", By: back.Name, Identity: back.Identity},
		rules.EndHold{By: back.Name, Identity: back.Identity},
		rules.Assign{To: rules.Assignee{Team: "seniors"}, Escalate: true, Notes: "look", By: back.Name, Identity: back.Identity},
		rules.Assign{To: rules.Assignee{Person: back}, By: back.Name, Identity: back.Identity},
		rules.Assign{By: back.Name, Identity: back.Identity},
		rules.Remind{},
	}
	return rapid.SampledFrom(commands).Draw(t, "command")
}
