package linear_test

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/verifyd/verifyd/internal/rig/linear"
)

// step is one operation of a history in which nothing overlaps.
type step struct {
	in  linear.Input
	out linear.Output
}

func submit(signal string, p linear.Payload, answer string) step {
	return step{linear.Input{Op: linear.OpSubmit, Signal: signal, Payload: p}, linear.Output{Answer: answer}}
}

func verdict(decision, notes, answer string) step {
	return step{
		linear.Input{Op: linear.OpVerdict, Decision: decision, Notes: notes},
		linear.Output{Answer: answer, Decision: decision},
	}
}

func ask(name, answer string) step {
	return step{linear.Input{Op: linear.OpAskAgain, Step: name}, linear.Output{Answer: answer}}
}

func cancel(answer string, completed int64) step {
	out := linear.Output{Answer: answer}
	if answer == linear.Done {
		out.View = linear.View{Status: "cancelled", Completed: completed}
	}
	return step{linear.Input{Op: linear.OpCancel}, out}
}

func read(s linear.View) step {
	return step{linear.Input{Op: linear.OpRead}, linear.Output{Answer: linear.Done, View: s}}
}

func list(status, decision string, found ...linear.View) step {
	out := linear.Output{Answer: linear.Done, Listed: len(found) > 0}
	if out.Listed {
		out.View = found[0]
	}
	return step{linear.Input{Op: linear.OpList, Status: status, Decision: decision}, out}
}

func started() step {
	return step{linear.Input{Op: linear.OpStart}, linear.Output{Answer: linear.Done, Started: deadline - time.Hour.Microseconds()}}
}

func settled() step {
	return step{linear.Input{Op: linear.OpSettled}, linear.Output{Answer: linear.Done}}
}

func shown(s linear.View) step {
	return step{linear.Input{Op: linear.OpShown}, linear.Output{Answer: linear.Done, View: s}}
}

func advance() step {
	return step{linear.Input{Op: linear.OpAdvance}, linear.Output{Answer: linear.Done}}
}

// The deadline of the histories below; each step takes ten microseconds, the
// first begins at 10.
const deadline = 1000

// row is a history and whether the contract allows it.
type row struct {
	name  string
	legal bool
	path  []linear.Step
	steps []step
}

func rows() []row {
	consent, details := linear.Step{Name: "consent", Kind: linear.Consent}, linear.Step{Name: "details", Kind: linear.Details}
	pan, review := linear.Step{Name: "pan", Kind: linear.Check}, linear.Step{Name: "review", Kind: linear.Review}
	again := linear.Step{Name: "again", Kind: linear.Review}
	atConsent := linear.View{Status: "in_progress", Action: "customer_input", Signal: "consent_submitted", Linked: true}
	atCheck := linear.View{Status: "in_progress", Check: "running"}
	atReview := linear.View{Status: "in_progress", Action: "review", Signal: "human_review_decision", Decision: "review", Flags: "review"}
	expired := linear.View{Status: "expired", Completed: deadline, Code: "LINK_EXPIRED"}
	agreed := submit("consent_submitted", linear.Good, linear.Delivered)
	paths := map[string][]linear.Step{
		"form": {consent, details}, "check": {consent, pan, details}, "review": {consent, review}, "twice": {consent, review, again},
	}
	plain := []row{
		{"a signal is delivered once", true, paths["form"], []step{agreed, submit("consent_submitted", linear.Good, linear.NotOpen)}},
		{"a signal is delivered twice", false, paths["form"], []step{agreed, agreed}},
		{"a bad payload changes nothing", true, paths["form"], []step{submit("consent_submitted", linear.Bad, linear.Invalid), agreed}},
		{"a bad payload of a signal that is not open", false, paths["form"], []step{agreed, submit("consent_submitted", linear.Bad, linear.Invalid)}},
		{"a signal of a later stop", false, paths["form"], []step{submit("details_submitted", linear.Good, linear.Delivered)}},
		{"a check is seen at work", true, paths["check"], []step{agreed, read(atCheck), submit("details_submitted", linear.Good, linear.Delivered)}},
		{"a check is never seen", true, paths["check"], []step{agreed, submit("details_submitted", linear.Good, linear.Delivered)}},
		{"a check is at work after its answer", false, paths["check"], []step{agreed, submit("details_submitted", linear.Bad, linear.Invalid), read(atCheck)}},
		{"a signal after a cancel", true, paths["form"], []step{cancel(linear.Done, 15), submit("consent_submitted", linear.Good, linear.NotOpen)}},
		{"a signal is delivered after a cancel", false, paths["form"], []step{cancel(linear.Done, 15), agreed}},
		{"a cancel is harmless twice", true, paths["form"], []step{cancel(linear.Done, 15), cancel(linear.Done, 15)}},
		{"a second cancel moves the end", false, paths["form"], []step{cancel(linear.Done, 15), cancel(linear.Done, 25)}},
		{"a read from before a cancel", false, paths["form"], []step{cancel(linear.Done, 15), read(atConsent)}},
		{"a cancel after the end", true, paths["form"], []step{advance(), cancel(linear.Conflict+"expired", 0)}},
		{"a cancel undoes the end", false, paths["form"], []step{advance(), cancel(linear.Done, 25)}},
		{"expired after the deadline", true, paths["form"], []step{read(atConsent), advance(), read(expired), list("expired", "", linear.View{Status: "expired", Completed: deadline, Code: "LINK_EXPIRED"}), list("in_progress", "")}},
		{"expired before the deadline", false, paths["form"], []step{read(expired), advance()}},
		{"in progress after the deadline", false, paths["form"], []step{advance(), read(atConsent)}},
		{"expired when somebody reads it", false, paths["form"], []step{advance(), read(linear.View{Status: "expired", Completed: 25, Code: "LINK_EXPIRED"})}},
		{"the check of an expired run reads failed", true, paths["check"], []step{agreed, advance(), read(linear.View{Status: "expired", Completed: deadline, Code: "RUN_EXPIRED", Check: "failed"})}},
		{"the check of an expired run reads running", false, paths["check"], []step{agreed, advance(), read(linear.View{Status: "expired", Completed: deadline, Code: "RUN_EXPIRED", Check: "running"})}},
		{"expired on a review is no matter of the link", false, paths["review"], []step{agreed, advance(), read(expired)}},
		{"an end is taken back", false, paths["form"], []step{advance(), read(expired), read(linear.View{Status: "cancelled", Completed: 15})}},
	}
	return slices.Concat(plain, startRows(paths, atConsent, expired), verdictRows(paths, agreed, atReview), roundRows(agreed, atReview))
}

// roundRows are histories of runs whose customer is asked again.
func roundRows(agreed step, atReview linear.View) []row {
	consent, details := linear.Step{Name: "consent", Kind: linear.Consent}, linear.Step{Name: "details", Kind: linear.Details}
	review, second := linear.Step{Name: "review", Kind: linear.Review}, linear.Step{Name: "second", Kind: linear.Review}
	one, two := []linear.Step{consent, review}, []linear.Step{consent, details, review, second}
	asked := ask("consent", linear.Delivered)
	inRound := linear.View{Status: "in_progress", Action: "customer_input", Signal: "consent_submitted", Linked: true, Flags: "review"}
	judged, filled := verdict("approve", "fine", linear.Delivered), submit("details_submitted", linear.Good, linear.Delivered)
	later := inRound
	later.Decision, later.Notes, later.Resolved, later.Flags = "approve", "fine", 35, "review second"
	unjudged := later
	unjudged.Decision, unjudged.Notes, unjudged.Resolved = "", "", 0
	return []row{
		{"a customer is asked again, and answers", true, one, []step{agreed, asked, read(inRound), agreed, read(atReview)}},
		{"a run that was asked again is still in review", false, one, []step{agreed, asked, read(atReview)}},
		{"a run that was asked again is in the queue", false, one, []step{agreed, asked, list("", "review", linear.View{Status: "in_progress", Action: "customer_input", Signal: "consent_submitted", Linked: true})}},
		{"a customer is asked again twice at once", true, one, []step{agreed, asked, ask("consent", linear.NotOpen)}},
		{"both of two that ask again are told that they did", false, one, []step{agreed, asked, asked}},
		{"a verdict while the customer is asked", true, one, []step{agreed, asked, verdict("approve", "", linear.NotOpen)}},
		{"a verdict is delivered while the customer is asked", false, one, []step{agreed, asked, verdict("approve", "", linear.Delivered)}},
		{"the rounds are used up", true, one, []step{agreed, asked, agreed, ask("consent", linear.NoRounds), read(atReview)}},
		{"a round too many", false, one, []step{agreed, asked, agreed, asked}},
		{"what was not asked again stays answered", true, two, []step{agreed, filled, asked, agreed, judged}},
		{"what was not asked again is asked, too", false, two, []step{agreed, filled, asked, agreed, filled}},
		{"an answer of a round is lost", false, two, []step{agreed, filled, asked, agreed, read(inRound)}},
		{"the newest verdict counts in a round", true, two, []step{agreed, filled, judged, asked, read(later)}},
		{"a round takes the verdict back", false, two, []step{agreed, filled, judged, asked, read(unjudged)}},
		{"a customer is asked for a step to come", true, two, []step{agreed, filled, ask("second", linear.Invalid), ask("nothing", linear.Invalid)}},
		{"a run that is over is asked again", false, one, []step{agreed, cancel(linear.Done, 25), asked}},
	}
}

func startRows(paths map[string][]linear.Step, atConsent, expired linear.View) []row {
	refused, other := started(), started()
	refused.out.Answer, refused.out.Started = linear.InFlight, 0
	other.out.Started++
	return []row{
		{"a start is answered again", true, paths["form"], []step{started(), shown(atConsent)}},
		{"a start is answered with another run", false, paths["form"], []step{other}},
		{"a start does not show the run", false, paths["form"], []step{shown(linear.View{Status: "completed", Completed: 15})}},
		{"a start is refused while another is in flight", true, paths["form"], []step{refused, settled()}},
		{"a start is refused once one was answered", false, paths["form"], []step{settled(), refused}},
		{"a start is answered expired", true, paths["form"], []step{advance(), shown(expired)}},
		{"a start is answered expired, and the run is cancelled later", false, paths["form"], []step{advance(), shown(expired), cancel(linear.Done, 35)}},
		{"a run that was started is not found", false, paths["form"], []step{{linear.Input{Op: linear.OpRead}, linear.Output{Answer: linear.NotFound}}}},
	}
}

func verdictRows(paths map[string][]linear.Step, agreed step, atReview linear.View) []row {
	approved := linear.View{Status: "completed", Completed: 25, Decision: "approve", Notes: "fine", Resolved: 25, Flags: "review"}
	rejected := approved
	rejected.Decision, rejected.Notes, rejected.Resolved = "reject", "", 35
	kept := rejected
	kept.Notes = "fine"
	deliver, record := verdict("approve", "fine", linear.Delivered), verdict("reject", "", linear.Recorded)
	parkedAgain := linear.View{Status: "in_progress", Action: "review", Signal: "human_review_decision", Decision: "review", Flags: "review again"}
	early := parkedAgain
	early.Resolved, early.Notes = 25, "fine"
	settled := linear.View{Status: "cancelled", Completed: 15, Decision: "reject", Resolved: 25}
	return []row{
		{"a review is needed and listed", true, paths["review"], []step{agreed, read(atReview), list("in_progress", "review", linear.View{Status: "in_progress", Action: "review", Signal: "human_review_decision"})}},
		{"a review is needed and not listed", false, paths["review"], []step{agreed, read(atReview), list("", "review")}},
		{"a verdict with nothing to decide", true, paths["review"], []step{verdict("approve", "", linear.NotOpen)}},
		{"a verdict lets the run go on", true, paths["review"], []step{agreed, deliver, read(approved), read(approved)}},
		{"a verdict is delivered twice", false, paths["review"], []step{agreed, deliver, verdict("reject", "", linear.Delivered)}},
		{"a verdict replaces decision, notes and time", true, paths["review"], []step{agreed, deliver, record, read(rejected)}},
		{"a verdict without notes leaves the old ones", false, paths["review"], []step{agreed, deliver, record, read(kept)}},
		{"a verdict is lost", false, paths["review"], []step{agreed, deliver, record, read(approved)}},
		{"a verdict moves in time", false, paths["review"], []step{agreed, deliver, read(approved), read(moved(approved))}},
		{"a second review takes the first verdict's place", true, paths["twice"], []step{agreed, deliver, read(parkedAgain), verdict("reject", "", linear.Delivered)}},
		{"a second review shows the first verdict", false, paths["twice"], []step{agreed, deliver, read(early)}},
		{"a verdict on a cancelled run", true, paths["form"], []step{cancel(linear.Done, 15), record, read(settled), list("cancelled", "reject", linear.View{Status: "cancelled", Completed: 15})}},
		{"a cancelled run goes on by a verdict", false, paths["form"], []step{cancel(linear.Done, 15), verdict("reject", "", linear.Delivered)}},
		{"a cancelled run is in the queue", false, paths["review"], []step{agreed, cancel(linear.Done, 25), list("", "review", linear.View{Status: "cancelled", Completed: 25})}},
		{"a completed run that was declined needs a verdict", true, paths["form"], []step{
			submit("consent_submitted", linear.Declined, linear.Delivered), submit("details_submitted", linear.Good, linear.Delivered),
			read(linear.View{Status: "completed", Completed: 25, Decision: "review", Flags: "consent"}),
		}},
	}
}

func moved(s linear.View) linear.View {
	s.Resolved++
	return s
}

func TestTheModelKeepsTheContract(t *testing.T) {
	for _, r := range rows() {
		r.steps = append([]step{started()}, r.steps...)
		t.Run(r.name, r.hold)
	}
}

// hold checks the history of the row.
func (r row) hold(t *testing.T) {
	h := linear.History{Plan: linear.Plan{Path: r.path, Deadline: deadline, Quiescent: true}}
	at := int64(0)
	for _, s := range r.steps {
		s.out.From, s.out.To = at, at+9
		if s.in.Op == linear.OpAdvance {
			s.out.To = deadline
		}
		h.Operations = append(h.Operations, porcupine.Operation{Input: s.in, Output: s.out, Call: at, Return: at + 9})
		at += 10
	}
	want := porcupine.Illegal
	if r.legal {
		want = porcupine.Ok
	}
	if got, _ := h.Check(checkTimeout); got != want {
		t.Errorf("the history is %s, want %s:\n%s", got, want, h)
	}
}

func TestNothingIsFoundBeforeTheStart(t *testing.T) {
	path := []linear.Step{{Name: "details", Kind: linear.Details}}
	notFound := step{linear.Input{Op: linear.OpRead}, linear.Output{Answer: linear.NotFound}}
	parked := linear.View{Status: "in_progress", Action: "customer_input", Signal: "details_submitted", Linked: true}
	for _, r := range []row{
		{"a read before the start", true, path, []step{notFound, list("", ""), started(), read(parked)}},
		{"a read that shows a run before its start", false, path, []step{read(parked), started()}},
		{"a list that shows a run before its start", false, path, []step{list("", "", parked), started()}},
	} {
		t.Run(r.name, r.hold)
	}
}

func TestOperationsThatOverlapMayComeInAnyOrder(t *testing.T) {
	path := []linear.Step{{Name: "consent", Kind: linear.Consent}, {Name: "review", Kind: linear.Review}}
	at := func(client int, from, to int64, s step) porcupine.Operation {
		s.out.From, s.out.To = from, to
		return porcupine.Operation{ClientId: client, Input: s.in, Output: s.out, Call: from, Return: to}
	}
	agreed := at(0, 10, 19, submit("consent_submitted", linear.Good, linear.Delivered))
	later := at(1, 22, 39, verdict("approve", "", linear.Recorded))
	for _, c := range []struct {
		name  string
		other porcupine.Operation
		want  porcupine.CheckResult
	}{
		{"the verdict that was called first is recorded last", at(2, 30, 45, verdict("reject", "", linear.Delivered)), porcupine.Ok},
		{"neither lets the run go on", at(2, 30, 45, verdict("reject", "", linear.Recorded)), porcupine.Illegal},
		{"the one that lets the run go on comes too late", at(2, 40, 45, verdict("reject", "", linear.Delivered)), porcupine.Illegal},
	} {
		h := linear.History{
			Plan:       linear.Plan{Path: path, Deadline: deadline},
			Operations: []porcupine.Operation{at(0, 0, 9, started()), agreed, later, c.other},
		}
		if got, _ := h.Check(checkTimeout); got != c.want {
			t.Errorf("%s: the history is %s, want %s", c.name, got, c.want)
		}
	}
}
