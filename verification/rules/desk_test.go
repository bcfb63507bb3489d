package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// inReview returns a run that waits for a verdict.
func inReview(t flows.Tester, d workflow.Definition) *journey {
	t.Helper()
	return begin(t, d, `{"review":true}`).submit(consents).pass()
}

// noted adds a note of Asha.
func (j *journey) noted(text string) *journey {
	j.t.Helper()
	return j.do(rules.AddNote{Notes: text, By: "Asha", Identity: "asha"})
}

// toTeam escalates the run to a team.
func (j *journey) toTeam(team string) *journey {
	j.t.Helper()
	return j.do(rules.Assign{To: rules.Assignee{Team: team}, Escalate: true, Notes: "look", By: "Asha", Identity: "asha"})
}

// person returns an assignee.
func person(identity string) rules.Assignee {
	return rules.Assignee{Person: verification.Person{Identity: identity, Name: identity}}
}

func TestNotesAndAssignmentsChangeNothingElse(t *testing.T) {
	plain := inReview(t, flows.DeskFlow())
	j := plain.fork().noted("called the bank").toTeam("seniors")
	want, got := plain.detail(), j.detail()
	got.Seq = want.Seq
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the run of the API (-without +with notes):\n%s", diff)
	}
	report := func(j *journey) rules.Report {
		r := j.report()
		r.Digest = ""
		return r
	}
	if diff := cmp.Diff(report(plain), report(j)); diff != "" {
		t.Errorf("the report (-without +with notes):\n%s", diff)
	}
	j.approve("fine").noted("told the customer")
	if j.status() != rules.StatusCompleted || j.detail().Notes != "fine" {
		t.Errorf("after the verdict the run is %s with the notes %q", j.status(), j.detail().Notes)
	}
}

func TestANoteDoesNotRefuseAVerdict(t *testing.T) {
	verdict := func(seq int) rules.GiveVerdict {
		return rules.GiveVerdict{Decision: rules.DecisionApprove, By: "ravi", Identity: "ravi", Seq: seq}
	}
	j := inReview(t, flows.DeskFlow())
	seen := j.run.Seq
	j.noted("called the bank").toTeam("seniors")
	for seq, want := range map[int]error{seen - 1: rules.ErrRunChanged, seen: nil, seen + 1: nil, seen + 2: nil, seen + 3: rules.ErrRunChanged} {
		if _, err := j.try(verdict(seq)); !errors.Is(err, want) {
			t.Errorf("a verdict on event %d = %v, want %v", seq, err, want)
		}
	}
	j.approve("")
	if _, err := j.try(verdict(seen)); !errors.Is(err, rules.ErrRunChanged) {
		t.Errorf("a verdict after another one = %v, want %v", err, rules.ErrRunChanged)
	}
}

func TestNotesAndAssignmentsAreChecked(t *testing.T) {
	long := strings.Repeat("é", rules.MaxNotes)
	note := func(text, identity string) rules.Command {
		return rules.AddNote{Notes: text, Identity: identity}
	}
	assign := func(to rules.Assignee, escalate bool, notes, identity string) rules.Command {
		return rules.Assign{To: to, Escalate: escalate, Notes: notes, Identity: identity}
	}
	team := rules.Assignee{Team: "seniors"}
	for name, c := range map[string]struct {
		command rules.Command
		field   string // that is wrong; empty for none
	}{
		"a note":                       {note("x", "asha"), ""},
		"the longest note":             {note(long, "asha"), ""},
		"a longer note":                {note(long+"é", "asha"), "payload.notes"},
		"white space":                  {note("\n \t", "asha"), "payload.notes"},
		"a note with NUL":              {note("a\x00", "asha"), "payload.notes"},
		"a note of nobody":             {note("x", ""), "identity"},
		"to a person":                  {assign(person("ravi"), false, "", "asha"), ""},
		"to a team":                    {assign(team, false, "", "asha"), ""},
		"to a person and a team":       {assign(rules.Assignee{Team: "seniors", Person: person("ravi").Person}, false, "", "asha"), "to"},
		"to a name":                    {assign(rules.Assignee{Person: verification.Person{Name: "Ravi"}}, false, "", "asha"), "to"},
		"to a long identity":           {assign(person(strings.Repeat("x", 501)), false, "", "asha"), "to"},
		"to a long team":               {assign(rules.Assignee{Team: strings.Repeat("x", 61)}, false, "", "asha"), "team"},
		"to a team with a line break":  {assign(rules.Assignee{Team: "a\nb"}, false, "", "asha"), "team"},
		"by nobody":                    {assign(team, false, "", ""), "identity"},
		"an escalation":                {assign(team, true, "look", "asha"), ""},
		"an escalation without a note": {assign(team, true, " ", "asha"), "payload.notes"},
		"an escalation to a person":    {assign(person("ravi"), true, "look", "asha"), "team"},
		"a long note to a team":        {assign(team, false, long+"é", "asha"), "payload.notes"},
	} {
		_, err := inReview(t, flows.DeskFlow()).try(c.command)
		var names []string
		if err != nil {
			for _, f := range flows.FieldsOf(t, err) {
				names = append(names, f.Name)
			}
		}
		if strings.Join(names, " ") != c.field {
			t.Errorf("%s: the wrong fields are %q, want %q", name, names, c.field)
		}
	}
}

func TestARepeatedNoteIsAddedOnce(t *testing.T) {
	j := inReview(t, flows.DeskFlow()).noted("same").noted("same")
	n := len(j.history)
	if j.noted("other").noted("same"); len(j.history) != n+2 {
		t.Errorf("%d events after two other notes, want %d", len(j.history), n+2)
	}
	j.toTeam("seniors").noted("same")
	if got := flows.Kinds(j.history[n+2:]); got != "assigned, note_added" {
		t.Errorf("after an escalation: %s, want the note again", got)
	}
}

func TestAnAssignmentEndsWithItsReview(t *testing.T) {
	for name, c := range map[string]struct {
		happen func(j *journey)
		want   string // the key of the assignee
	}{
		"nothing":                  {func(*journey) {}, "team:seniors"},
		"a note":                   {func(j *journey) { j.noted("x") }, "team:seniors"},
		"another assignment":       {func(j *journey) { j.do(rules.Assign{To: person(" Ravi "), Identity: "asha"}) }, "person:ravi"},
		"the end of it":            {func(j *journey) { j.do(rules.Assign{Identity: "asha"}) }, ""},
		"the proposal of a member": {func(j *journey) { j.propose() }, "team:seniors"},
		"the proposal of the assignee": {func(j *journey) {
			j.do(rules.Assign{To: person("Asha"), Identity: "ravi"}).propose()
		}, ""},
		"a verdict": {func(j *journey) { j.propose().do(verdictBy("ravi", rules.DecisionApprove)) }, ""},
		"a cancel":  {func(j *journey) { j.cancel() }, ""},
	} {
		j := inReview(t, flows.FourEyes()).toTeam("Seniors")
		c.happen(j)
		if got := j.run.Assignment.To.Key(); got != c.want {
			t.Errorf("after %s the run is assigned to %q, want %q", name, got, c.want)
		}
		if v, open := j.run.Review(); open && v.Assignment != j.run.Assignment {
			t.Errorf("after %s the queue says %+v, the run %+v", name, v.Assignment, j.run.Assignment)
		}
	}
}

func TestAssignedTwiceIsAssignedOnce(t *testing.T) {
	j := inReview(t, flows.DeskFlow()).do(rules.Assign{To: person("ravi"), Identity: "asha"})
	n := len(j.history)
	if j.do(rules.Assign{To: person("RAVI"), Identity: "asha"}); len(j.history) != n {
		t.Errorf("the second assignment led to %s", flows.Kinds(j.history[n:]))
	}
	if j.toTeam("a").toTeam("a"); len(j.history) != n+2 {
		t.Errorf("two escalations led to %s, want both notes", flows.Kinds(j.history[n:]))
	}
}

func TestPeopleOfARun(t *testing.T) {
	j := inReview(t, flows.FourEyes()).propose().do(rules.AddNote{Notes: "x", By: "Ravi", Identity: "ravi"}).
		do(rules.Assign{To: person("meera"), By: "Asha", Identity: "Asha"})
	want := []verification.Person{{Identity: "Asha", Name: "Asha"}, {Identity: "ravi", Name: "Ravi"}}
	if diff := cmp.Diff(want, rules.People(j.history)); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
}

func TestAReviewerHasAKeyForEachTeam(t *testing.T) {
	r := verification.Reviewer{Identity: "Team:x", Name: "x", Teams: []string{"Seniors", "kyc"}}
	if got := strings.Join(rules.AssigneeKeys(r), " "); got != "person:team:x team:seniors team:kyc" {
		t.Errorf("keys = %s", got)
	}
}

// dueSoon is the definition of a desk whose verdicts are due after 100 minutes.
func dueSoon() workflow.Definition {
	d := flows.FourEyes()
	d.RunTTLSeconds, d.ReviewDueMinutes, d.Notify = 0, 100, []workflow.NoticeEvent{workflow.NoticeReviewDueSoon}
	return d
}

func TestAReminderIsRecordedOnceAtItsTime(t *testing.T) {
	j := inReview(t, dueSoon())
	since := j.now
	if at := j.run.RemindAt(); !at.Equal(since.Add(75 * time.Minute)) {
		t.Fatalf("RemindAt = %s, want 75 minutes after %s", at, since)
	}
	n := len(j.history)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{75*time.Minute - 1, ""}, {1, "review_due_soon"}, {time.Hour, "review_due_soon"},
	} {
		j.after(step.after).do(rules.Remind{})
		if got := flows.Kinds(j.history[n:]); got != step.want {
			t.Errorf("after %s: %q, want %q", j.now.Sub(since), got, step.want)
		}
	}
	if f, _ := j.history[n].Fact.(rules.ReviewDueSoon); !f.DueAt.Equal(since.Add(100 * time.Minute)) {
		t.Errorf("due at %s, want 100 minutes after %s", f.DueAt, since)
	}
	if !j.run.RemindAt().IsZero() {
		t.Error("the run has a second reminder")
	}
}

func TestWhatHasNoReminder(t *testing.T) {
	unasked := dueSoon()
	unasked.Notify = nil
	for name, j := range map[string]*journey{
		"a workflow that does not ask": inReview(t, unasked),
		"a run that is not in review":  begin(t, dueSoon(), ""),
		"a run with its verdict": inReview(t, dueSoon()).propose().
			do(verdictBy("ravi", rules.DecisionApprove)),
		"a cancelled run": inReview(t, dueSoon()).cancel(),
	} {
		n := len(j.history)
		if j.after(24 * time.Hour).do(rules.Remind{}); len(j.history) != n || !j.run.RemindAt().IsZero() {
			t.Errorf("%s: events %s, next at %s", name, flows.Kinds(j.history[n:]), j.run.RemindAt())
		}
	}
}

func TestACommitQueuesAndRemovesTheReminder(t *testing.T) {
	key := store.WorkKey{Kind: store.WorkExpire}
	work := func(before *journey, after *journey) (time.Time, bool) {
		at, changed := store.NewCommit(before.run, after.run, nil, time.UTC).Work[key]
		return at, changed
	}
	start := begin(t, dueSoon(), `{"review":true}`).submit(consents)
	waiting := start.fork().pass()
	if at, changed := work(start, waiting); !changed || !at.Equal(waiting.now.Add(75*time.Minute)) {
		t.Errorf("the review queues a reminder at %s, %t", at, changed)
	}
	if at, changed := work(waiting, waiting.fork().noted("x")); changed {
		t.Errorf("a note changes the reminder to %s", at)
	}
	for name, after := range map[string]*journey{
		"a verdict":  waiting.fork().propose().do(verdictBy("ravi", rules.DecisionApprove)),
		"a reminder": waiting.fork().after(75 * time.Minute).do(rules.Remind{}),
		"a cancel":   waiting.fork().cancel(),
	} {
		if at, changed := work(waiting, after); !changed || !at.IsZero() {
			t.Errorf("%s: the reminder is at %s, %t, want it removed", name, at, changed)
		}
	}
}

func TestTheDeadlineFollowsTheReminder(t *testing.T) {
	d := dueSoon()
	for ttl, want := range map[int64][]time.Duration{ // after the start: before and after the reminder
		2 * 3600: {75*time.Minute + time.Second, 2*time.Hour + time.Microsecond},
		3600:     {time.Hour + time.Microsecond, time.Hour + time.Microsecond},
	} {
		d.RunTTLSeconds = ttl
		j := begin(t, d, `{"review":true}`)
		if at := j.run.NextDue(); !at.Equal(j.run.Deadline().Add(time.Microsecond)) {
			t.Errorf("before the review, %s is due", at)
		}
		j.submit(consents).after(time.Second).pass()
		if at := j.run.NextDue().Sub(j.run.StartedAt); at != want[0] {
			t.Errorf("with a deadline of %d s, %s is due, want %s", ttl, at, want[0])
		}
		if ttl > 3600 {
			j.after(75 * time.Minute).do(rules.Remind{})
		}
		if at := j.run.NextDue().Sub(j.run.StartedAt); at != want[1] {
			t.Errorf("with a deadline of %d s, %s is due after the reminder, want %s", ttl, at, want[1])
		}
		if j.cancel(); !j.run.NextDue().IsZero() {
			t.Errorf("%s is due after the end", j.run.NextDue())
		}
	}
}

func TestTheNoticeOfAReminder(t *testing.T) {
	j := inReview(t, dueSoon()).after(75 * time.Minute).do(rules.Remind{})
	ref := rules.NoticeRef{Run: flows.RunID, Seq: len(j.history)}
	due := j.now.Add(25 * time.Minute)
	for _, c := range []struct {
		happen   func()
		obsolete bool
	}{
		{func() {}, false},
		{func() { j.noted("x").propose() }, false},
		{func() { j.do(verdictBy("ravi", rules.DecisionApprove)) }, true},
	} {
		c.happen()
		n, err := rules.NewNotice(ref, j.history)
		if err != nil || n.Event != workflow.NoticeReviewDueSoon || !n.DueAt.Equal(due) || n.Obsolete != c.obsolete ||
			n.Decision != rules.DecisionReview || n.Run.Action == nil {
			t.Errorf("notice = %+v, %v, want it obsolete: %t", n, err, c.obsolete)
		}
	}
}

// Each row is a journey and the events of which it tells, with the decision of the notice.
func TestWhatAJourneyTells(t *testing.T) {
	twice := flows.Define("first", flows.Nodes{
		"first": flows.ReviewNode("First", "gate"), "gate": flows.BranchNode("review wanted", "second", "pan"),
		"pan": flows.CheckNode("PAN", "second"), "second": flows.ReviewNode("Second", "done"), "done": flows.EndNode(),
	})
	for _, c := range []struct {
		name string
		j    func() *journey
		want string
	}{
		{"a review step", func() *journey { return atReview(t) }, "review_needed review"},
		{
			"a round", func() *journey { return atReview(t).do(askAgain("name")).submit(`{"name":"Asha Rao"}`).pass() },
			"review_needed review, asked_again, review_needed review",
		},
		{
			"a verdict that leads to the next review", func() *journey { return begin(t, twice, `{"review":true}`).approve("") },
			"review_needed review, reviewed approve",
		},
		{
			"a check between two reviews", func() *journey { return begin(t, twice, "").approve("").pass() },
			"review_needed review, reviewed approve, review_needed review",
		},
		{
			"an end with a flag", func() *journey {
				return begin(t, flows.Single(nil), "").result(verification.OutcomePassed, `{"source_ok":false}`)
			},
			"review_needed review",
		},
		{"a clean end", func() *journey { return begin(t, flows.Single(nil), "").pass() }, ""},
		{
			"a form once more", func() *journey {
				return begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).fail().submit(`{"pan":"y"}`).fail()
			},
			"returned_to_customer, returned_to_customer",
		},
		{"a consent once more", func() *journey {
			return begin(t, flows.Refusal(), "").submit(`{"consent_status":"declined"}`).reject("")
		}, "review_needed review, reviewed reject, returned_to_customer reject"},
	} {
		j := c.j()
		var got []string
		for i := range j.history {
			n, err := rules.NewNotice(rules.NoticeRef{Run: flows.RunID, Seq: i + 1}, j.history)
			if err != nil {
				continue
			}
			got = append(got, strings.TrimSpace(strings.TrimPrefix(string(n.Event), "run.")+" "+string(n.Decision)))
			if n.Event == workflow.NoticeReturned && n.Run.Action != nil {
				t.Errorf("%s: the notice has the action %+v", c.name, n.Run.Action)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s tells of %q, want %q", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestAReminderNeedsADueTime(t *testing.T) {
	d := dueSoon()
	d.ReviewDueMinutes = 0
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
	if fields := flows.FieldsOf(t, err); !slices.Contains(fields, verification.FieldError{Name: "notify[0]", Message: "needs review_due_minutes"}) {
		t.Errorf("problems = %+v", fields)
	}
}

func TestAPrintForTheFileHasTheNotes(t *testing.T) {
	j := inReview(t, flows.DeskFlow()).noted("called").toTeam("seniors").approve("").noted("told")
	none := func(string) verification.ProviderDescription { return verification.ProviderDescription{} }
	var got []string
	for _, r := range report.Of(j.run, j.program, j.history, j.now, flows.TenantID, none, true).Remarks {
		got = append(got, strings.TrimSpace(r.By+" "+r.Notes+" "+r.EscalatedTo))
	}
	if want := "Asha called, Asha look seniors, Asha told"; strings.Join(got, ", ") != want {
		t.Errorf("remarks = %q, want %s", got, want)
	}
	if p := report.Of(report.WithoutVerdicts(j.run), j.program, j.history, j.now, flows.TenantID, none, false); p.Remarks != nil {
		t.Errorf("the report has the remarks %+v", p.Remarks)
	}
}
