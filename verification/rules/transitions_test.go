package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// transition is one row of the table of statuses or of decisions: the steps that lead to
// the first state, the event, and the state after it.
type transition struct {
	from, trigger, condition, to, also string

	reach func(t *testing.T) *journey
	act   func(j *journey)
	hold  func(t *testing.T, j *journey) // what `also` says; may be nil
}

const (
	consents = `{"consent_status":"success"}`
	wantsTwo = `{"review":true,"again":true}`
	wantsOne = `{"review":true}`
)

func ttl(j *journey)                { j.after(time.Hour + 1) }
func idle(j *journey)               { j.after(10*time.Minute + 1) }
func atDesk(t *testing.T) *journey  { t.Helper(); return begin(t, flows.DeskFlow(), "") }
func checked(t *testing.T) *journey { t.Helper(); return atDesk(t).submit(consents) }

func onReview(t *testing.T) *journey {
	t.Helper()
	return begin(t, flows.DeskFlow(), wantsOne).submit(consents).pass()
}

func finishedOpen(t *testing.T) *journey {
	t.Helper()
	return checked(t).result(verification.OutcomePassed, `{"source_ok":false}`).after(time.Minute)
}

func statusTransitions() []transition {
	expiredWith := func(code rules.ErrorCode) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			d := j.detail()
			if d.Error == nil || d.Error.Code != code || d.Error.Check != "" || !d.CompletedAt.Equal(flows.Noon().Add(time.Hour)) {
				t.Errorf("error = %+v at %v, want %s without a check at the deadline", d.Error, d.CompletedAt, code)
			}
		}
	}
	failedWith := func(code rules.ErrorCode, check string) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			d := j.detail()
			if d.Error == nil || d.Error.Code != code || d.Error.Check != check || !d.CompletedAt.Equal(j.now) {
				t.Errorf("error = %+v at %v, want %s on %q now", d.Error, d.CompletedAt, code, check)
			}
		}
	}
	live := func(action rules.ActionType) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			d := j.detail()
			if !d.CompletedAt.IsZero() || d.Error != nil {
				t.Errorf("completed at %v with %v, want neither", d.CompletedAt, d.Error)
			}
			if got := d.Action; (got == nil) != (action == "") || got != nil && got.Type != action {
				t.Errorf("action = %+v, want %q", got, action)
			}
		}
	}
	unchanged := func(j *journey) { j.after(time.Minute).approve("fine") }
	recorded := func(t *testing.T, j *journey) {
		t.Helper()
		last := j.history[len(j.history)-1]
		if v, ok := last.Fact.(rules.VerdictRecorded); !ok || v.Node != "" {
			t.Errorf("the last event is %+v, want a verdict on no step", last)
		}
		if !j.detail().CompletedAt.Before(j.now) {
			t.Errorf("completed_at = %v, want the same as before the verdict", j.detail().CompletedAt)
		}
	}
	return []transition{
		{
			"(none)", "start", "accepted", "in_progress", "`action_required` if the first step is the customer's",
			func(t *testing.T) *journey { return unstarted(t, flows.DeskFlow()) },
			func(j *journey) { j.do(rules.Start{ReferenceID: "customer-1"}) }, live(rules.ActionCustomerInput),
		},
		{
			"in_progress", "read", "the customer is idle for longer than `abandon_timeout_seconds`", "abandoned",
			"the run stays live; at exactly the timeout it is still `in_progress`", atDesk, idle, live(rules.ActionCustomerInput),
		},
		{
			"in_progress", "read", "`abandon_timeout_seconds` is 0", "in_progress", "",
			func(t *testing.T) *journey { return begin(t, flows.Refusal(), "") },
			func(j *journey) { j.after(1000 * time.Hour) }, live(rules.ActionCustomerInput),
		},
		{
			"in_progress", "read", "the run waits for a source", "in_progress", "only a customer can abandon a run",
			checked, idle, live(""),
		},
		{"in_progress", "read", "the run is parked on review", "in_progress", "", onReview, idle, live(rules.ActionReview)},
		{
			"abandoned", "the customer opens the journey", "", "in_progress", "the only status that reverts",
			func(t *testing.T) *journey { return atDesk(t).after(11 * time.Minute) },
			func(j *journey) { j.do(rules.OpenJourney{}) }, live(rules.ActionCustomerInput),
		},
		{
			"abandoned", "customer submits", "", "in_progress", "the run continues",
			func(t *testing.T) *journey { return atDesk(t).after(11 * time.Minute) },
			func(j *journey) { j.submit(consents) }, live(""),
		},
		{"in_progress", "cancel", "", "cancelled", "", atDesk, func(j *journey) { j.cancel() }, nil},
		{
			"abandoned", "cancel", "", "cancelled", "",
			func(t *testing.T) *journey { return atDesk(t).after(11 * time.Minute) }, func(j *journey) { j.cancel() }, nil,
		},
		{
			"in_progress", "read", "older than `run_ttl_seconds`, on the customer", "expired",
			"`LINK_EXPIRED`; `completed_at` is the deadline; at exactly the deadline it is still `in_progress`",
			func(t *testing.T) *journey {
				return atDesk(t).after(55 * time.Minute).do(rules.OpenJourney{})
			},
			func(j *journey) { j.after(5*time.Minute + 1) }, expiredWith(rules.CodeLinkExpired),
		},
		{
			"abandoned", "read", "older than `run_ttl_seconds`", "expired", "`LINK_EXPIRED`",
			func(t *testing.T) *journey { return atDesk(t).after(time.Hour) },
			func(j *journey) { j.after(1) }, expiredWith(rules.CodeLinkExpired),
		},
		{
			"in_progress", "read", "older than `run_ttl_seconds`, waiting for a source", "expired", "`RUN_EXPIRED`",
			checked, ttl, expiredWith(rules.CodeRunExpired),
		},
		{
			"in_progress", "read", "older than `run_ttl_seconds`, on review", "expired", "`RUN_EXPIRED`",
			onReview, ttl, expiredWith(rules.CodeRunExpired),
		},
		{
			"in_progress", "read", "`run_ttl_seconds` is 0", "in_progress", "",
			func(t *testing.T) *journey { return begin(t, flows.Refusal(), "").submit(consents) },
			func(j *journey) { j.after(100000 * time.Hour) }, live(""),
		},
		{
			"in_progress", "verdict", "parked on review", "in_progress", "`signal_delivered`: the workflow continues",
			func(t *testing.T) *journey { return begin(t, flows.DeskFlow(), wantsTwo).submit(consents).pass() },
			func(j *journey) { j.approve("") }, live(rules.ActionReview),
		},
		{
			"in_progress", "result of a check", "the workflow reaches its end", "completed", "whatever the results of the checks",
			checked, func(j *journey) { j.pass() }, nil,
		},
		{
			"in_progress", "result of a check", "it did not pass, and `on_failed` is `fail`", "failed",
			"`CHECK_FAILED` with the check", checked, func(j *journey) { j.fail() },
			failedWith(rules.CodeCheckFailed, "pan"),
		},
		{
			"in_progress", "check without a result", "no retry and no fallback is left, and `on_unavailable` is `fail`", "failed",
			"`CHECK_UNAVAILABLE` with the check", checked, func(j *journey) { j.noResult(true) },
			failedWith(rules.CodeCheckUnavailable, "pan"),
		},
		{
			"in_progress", "an expression fails", "", "failed", "`INTERNAL_ERROR`",
			func(t *testing.T) *journey {
				d := flows.DeskFlow()
				d.Nodes["gate"] = flows.BranchNode("breaks", "review", "done")
				return begin(t, d, "").submit(consents)
			},
			func(j *journey) { j.pass() }, failedWith(rules.CodeInternalError, ""),
		},
		{
			"completed", "verdict", "", "completed", "`review_recorded`: status and `completed_at` do not change",
			finishedOpen, unchanged, recorded,
		},
		{
			"failed", "verdict", "", "failed", "`review_recorded`",
			func(t *testing.T) *journey { return checked(t).fail() }, unchanged, recorded,
		},
		{
			"expired", "verdict", "", "expired", "`review_recorded`",
			func(t *testing.T) *journey { return onReview(t).after(2 * time.Hour) }, unchanged, recorded,
		},
		{
			"cancelled", "verdict", "", "cancelled", "`review_recorded`",
			func(t *testing.T) *journey { return checked(t).cancel() }, unchanged, recorded,
		},
	}
}

func decisionTransitions() []transition {
	resolved := func(notes string) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			d := j.detail()
			if !d.ResolvedAt.Equal(j.now) || d.Notes != notes {
				t.Errorf("resolved at %v with notes %q, want now with %q", d.ResolvedAt, d.Notes, notes)
			}
		}
	}
	unresolved := func(t *testing.T, j *journey) {
		t.Helper()
		if d := j.detail(); !d.ResolvedAt.IsZero() || d.Notes != "" {
			t.Errorf("resolved at %v with notes %q, want neither", d.ResolvedAt, d.Notes)
		}
	}
	settled := func(status rules.CardStatus, sentence string) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			resolved("seen")(t, j)
			reason := "The source could not vouch for the answer."
			if c := j.card("pan"); c.Status != status || c.Reason != reason+" "+sentence {
				t.Errorf("the flagged card is %s: %s", c.Status, c.Reason)
			}
			if c := j.card("consent"); c.Status != rules.CardOK || c.Reason != "" {
				t.Errorf("the card that is not flagged is %s: %s", c.Status, c.Reason)
			}
			want := []rules.Flag{{NodeID: "pan", Label: "PAN", Reason: reason}}
			if diff := cmp.Diff(want, j.detail().Flags, reasonsOnly); diff != "" {
				t.Errorf("reviews (-want +got):\n%s", diff)
			}
		}
	}
	proposed := func(want bool) func(*testing.T, *journey) {
		return func(t *testing.T, j *journey) {
			t.Helper()
			if got := j.detail().Proposal; (got.Decision != "") != want || want && !got.At.Equal(j.now) {
				t.Errorf("proposal = %+v, want one: %t", got, want)
			}
		}
	}
	doubted := func(t *testing.T) *journey { return begin(t, flows.FourEyes(), wantsOne).submit(consents).pass() }
	doubtedOnce := func(t *testing.T) *journey { return doubted(t).propose() }
	twice := func(t *testing.T) *journey { return begin(t, flows.DeskFlow(), wantsTwo).submit(consents).pass() }
	openThenReview := func(t *testing.T) *journey {
		return begin(t, flows.DeskFlow(), wantsOne).submit(consents).result(verification.OutcomePassed, `{"source_ok":false}`)
	}
	approve, reject := func(j *journey) { j.approve("seen") }, func(j *journey) { j.reject("seen") }
	return []transition{
		{
			"null", "result of a check", "the run completes, no step is flagged", "null", "", checked,
			func(j *journey) { j.pass() }, unresolved,
		},
		{
			"null", "result of a check", "the run completes, a step is flagged", "review", "status `completed`",
			checked, func(j *journey) { j.result(verification.OutcomePassed, `{"source_ok":false}`) }, unresolved,
		},
		{
			"null", "result of a check", "the run completes, an earlier visit of a step is flagged", "review",
			"also if the last visit is not flagged",
			func(t *testing.T) *journey {
				return begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).submit(`{}`)
			},
			func(j *journey) { j.pass() }, unresolved,
		},
		{
			"null", "result of a check", "the run parks on review", "review", "status `in_progress`",
			func(t *testing.T) *journey { return begin(t, flows.DeskFlow(), wantsOne).submit(consents) },
			func(j *journey) { j.pass() }, unresolved,
		},
		{
			"null", "result of a check", "the run fails, a step is flagged", "null",
			"`failed` runs are never in the queue",
			checked, func(j *journey) { j.result(verification.OutcomeFailed, `{"source_ok":false}`) }, unresolved,
		},
		{
			"null", "verdict approve", "finished, no step is flagged", "approve", "any finished run accepts a verdict",
			func(t *testing.T) *journey { return checked(t).pass() }, approve, resolved("seen"),
		},
		{
			"null", "verdict reject", "finished without completing", "reject", "",
			func(t *testing.T) *journey { return checked(t).fail() }, reject, resolved("seen"),
		},
		{
			"null", "verdict", "neither finished nor parked on review", "null", "404, no open signal", checked,
			func(j *journey) {
				_, err := j.try(rules.GiveVerdict{Decision: rules.DecisionApprove})
				if got := flows.Outcome(nil, err); got != "not open" {
					j.t.Errorf("GiveVerdict = %s, want not open", got)
				}
			}, unresolved,
		},
		{
			"review", "verdict approve", "finished", "approve",
			"`resolved_at`, `notes`; each flagged card becomes `ok`, its reason ends with a fixed sentence; other cards are untouched",
			finishedOpen, approve, settled(rules.CardOK, "A reviewer approved the run."),
		},
		{
			"review", "verdict reject", "finished", "reject", "the same, with `failed`",
			finishedOpen, reject, settled(rules.CardFailed, "A reviewer rejected the run."),
		},
		{"review", "verdict approve", "parked on review", "approve", "the workflow continues", onReview, approve, resolved("seen")},
		{
			"review", "verdict reject", "parked on review", "reject", "the workflow continues, at `on_reject` if there is one",
			onReview, reject, resolved("seen"),
		},
		{
			"approve", "verdict reject", "finished", "reject", "without notes: the old ones are removed",
			func(t *testing.T) *journey { return finishedOpen(t).approve("seen").after(time.Minute) },
			func(j *journey) { j.reject("") }, resolved(""),
		},
		{
			"reject", "verdict approve", "finished; the first was given to a review step", "approve", "the newest verdict counts",
			func(t *testing.T) *journey { return onReview(t).reject("no").after(time.Minute) }, approve, resolved("seen"),
		},
		{
			"review", "verdict approve", "parked on review, and another review follows", "review",
			"a verdict is needed again: `resolved_at` is null, no `notes`", twice, approve, unresolved,
		},
		{
			"review", "verdict approve", "parked on the second review", "approve", "",
			func(t *testing.T) *journey { return twice(t).reject("no") }, approve, resolved("seen"),
		},
		{
			"review", "verdict approve", "parked on review; the run then completes with a flagged step", "approve",
			"the verdict stands", openThenReview, approve, resolved("seen"),
		},
		{"review", "cancel", "parked on review", "null", "leaves the queue", onReview, func(j *journey) { j.cancel() }, unresolved},
		{
			"review", "cancel", "parked on a second review", "approve", "the verdict stands",
			func(t *testing.T) *journey { return twice(t).approve("seen") },
			func(j *journey) { j.cancel() }, resolved("seen"),
		},
		{
			"review", "read", "older than `run_ttl_seconds`, parked on review", "null", "never `review` once expired",
			onReview, ttl, unresolved,
		},
		{
			"null", "verdict approve", "cancelled", "approve", "",
			func(t *testing.T) *journey { return checked(t).cancel() }, approve, resolved("seen"),
		},
		{
			"null", "verdict reject", "overdue", "reject", "the expiry is recorded first",
			func(t *testing.T) *journey { return checked(t).after(2 * time.Hour) }, reject, resolved("seen"),
		},
		{
			"null", "a later version of a list has a new hit", "completed", "review", "status and `completed_at` do not change",
			func(t *testing.T) *journey { return checked(t).pass() }, func(j *journey) { j.found("e-1") }, unresolved,
		},
		{
			"approve", "a later version of a list has a new hit", "completed", "review",
			"a verdict is needed again: `resolved_at` is null, no `notes`; a proposal is gone",
			func(t *testing.T) *journey { return finishedOpen(t).approve("seen") }, func(j *journey) { j.found("e-1") }, unresolved,
		},
		{
			"review", "verdict approve", "completed, with a new hit", "approve", "the hit stays in the history",
			func(t *testing.T) *journey { return checked(t).pass().found("e-1").after(time.Minute) }, approve, resolved("seen"),
		},
		{
			"review", "verdict of one reviewer", "`four_eyes`, parked on review", "review", "`proposal`; the workflow waits",
			doubted, func(j *journey) { j.propose() }, proposed(true),
		},
		{
			"review", "the same verdict of another reviewer", "`four_eyes`, parked on review, proposed", "approve",
			"the workflow continues; without notes, those of the proposal", doubtedOnce,
			func(j *journey) { j.do(verdictBy("ravi", rules.DecisionApprove)) }, resolved("seen"),
		},
		{
			"review", "another verdict of another reviewer", "`four_eyes`, parked on review, proposed", "review",
			"sent back: anyone may propose again", doubtedOnce,
			func(j *journey) { j.do(verdictBy("ravi", rules.DecisionReject)) }, proposed(false),
		},
		{
			"null", "verdict of one reviewer", "`four_eyes`, finished", "null", "`proposal`",
			func(t *testing.T) *journey { return begin(t, flows.FourEyes(), "").submit(consents).fail() },
			func(j *journey) { j.propose() }, proposed(true),
		},
		{
			"approve", "another verdict of one reviewer", "`four_eyes`, finished", "approve",
			"`proposal`; the old verdict stands until another reviewer confirms the new one",
			func(t *testing.T) *journey {
				return begin(t, flows.FourEyes(), "").submit(consents).fail().propose().do(verdictBy("ravi", rules.DecisionApprove))
			},
			func(j *journey) { j.do(verdictBy("ravi", rules.DecisionReject)) }, proposed(true),
		},
		{
			"review", "cancel", "`four_eyes`, parked on review, proposed", "null", "the proposal is gone",
			doubtedOnce, func(j *journey) { j.cancel() }, proposed(false),
		},
		{
			"review", "read", "`four_eyes`, proposed, older than `run_ttl_seconds`", "null", "the proposal is gone",
			doubtedOnce, ttl, proposed(false),
		},
	}
}

func TestEveryRowOfTheStatusTable(t *testing.T) {
	for _, row := range statusTransitions() {
		t.Run(row.from+"/"+row.trigger+"/"+row.condition, func(t *testing.T) {
			j := row.reach(t)
			if got := j.status(); row.from != "(none)" && string(got) != row.from {
				t.Fatalf("the row begins at %s, want %s", got, row.from)
			}
			row.act(j)
			if got := j.status(); string(got) != row.to {
				t.Errorf("status = %s, want %s", got, row.to)
			}
			if row.hold != nil {
				row.hold(t, j)
			}
			consistent(t, j)
		})
	}
}

func TestEveryRowOfTheDecisionTable(t *testing.T) {
	null := func(d rules.Decision) string {
		if d == rules.DecisionNone {
			return "null"
		}
		return string(d)
	}
	for _, row := range decisionTransitions() {
		t.Run(row.from+"/"+row.trigger+"/"+row.condition, func(t *testing.T) {
			j := row.reach(t)
			if got := null(j.decision()); got != row.from {
				t.Fatalf("the row begins at %s, want %s", got, row.from)
			}
			row.act(j)
			if got := null(j.decision()); got != row.to {
				t.Errorf("decision = %s, want %s", got, row.to)
			}
			if row.hold != nil {
				row.hold(t, j)
			}
			consistent(t, j)
		})
	}
}

func TestStatusChangesOnlyAfterTheLimit(t *testing.T) {
	j := atDesk(t).after(10 * time.Minute)
	if got := j.status(); got != rules.StatusInProgress {
		t.Errorf("StatusAt(start+10m) = %s, want in_progress", got)
	}
	if got := j.after(1).status(); got != rules.StatusAbandoned {
		t.Errorf("StatusAt(start+10m+1ns) = %s, want abandoned", got)
	}
	j = onReview(t).after(time.Hour)
	if got := j.status(); got != rules.StatusInProgress {
		t.Errorf("StatusAt(start+1h) = %s, want in_progress", got)
	}
	if got := flows.Outcome(j.try(rules.Expire{})); got != "nothing" {
		t.Errorf("Expire at the deadline = %s, want nothing", got)
	}
	if got := j.after(1).status(); got != rules.StatusExpired {
		t.Errorf("StatusAt(start+1h+1ns) = %s, want expired", got)
	}
}
