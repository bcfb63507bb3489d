package rules_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// grow is do for runs that become long: it compares nothing.
func (j *journey) grow(c rules.Command) *journey {
	j.t.Helper()
	events, after, err := rules.Decide(j.program, j.run, c, j.now)
	if err != nil {
		j.t.Fatalf("%T = %v, want no error", c, err)
	}
	j.run, j.history = after, append(j.history, events...)
	return j
}

// Each command is given until the run refuses it.
func TestWhatOneRunTakes(t *testing.T) {
	who := func(n, people int) string { return fmt.Sprint("reviewer-", n%people) }
	note := func(people int) func(int) rules.Command {
		return func(n int) rules.Command {
			return rules.AddNote{Notes: fmt.Sprint("note ", n), By: "x", Identity: who(n, people)}
		}
	}
	correct := func(people int) func(int) rules.Command {
		return func(n int) rules.Command {
			return rules.Correct{Node: "consent", Field: "consent_status", Correction: fmt.Sprint("correction ", n), Identity: who(n, people)}
		}
	}
	assign := func(people int, escalate bool) func(int) rules.Command {
		return func(n int) rules.Command {
			return rules.Assign{
				To: rules.Assignee{Team: fmt.Sprint("team-", n%2)}, Escalate: escalate, Notes: "look", Identity: who(n, people),
			}
		}
	}
	verdict := func(n int) rules.Command {
		return rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: fmt.Sprint("verdict ", n)}
	}
	hit := func(people int) func(int) rules.Command {
		return func(n int) rules.Command {
			c := decides("pan", "e-1", "1", rules.MatchUnsure)
			c.Reason, c.Identity = fmt.Sprint("reason ", n), who(n, people)
			return c
		}
	}
	sentBack := func(people int) func(*testing.T) *journey {
		return func(t *testing.T) *journey {
			t.Helper()
			j := inReview(t, flows.FourEyes())
			for n := 0; ; n++ {
				if _, err := j.try(rules.ReturnProposal{Identity: who(n, people)}); errors.Is(err, rules.ErrFull) {
					return j
				}
				j.grow(verdictBy("asha", rules.DecisionApprove))
				if _, err := j.try(rules.ReturnProposal{Identity: who(n, people)}); errors.Is(err, rules.ErrFull) {
					return j
				}
				j.grow(rules.ReturnProposal{Identity: who(n, people)})
			}
		}
	}
	reviewed := func(t *testing.T) *journey { t.Helper(); return inReview(t, flows.DeskFlow()) }
	finished := func(t *testing.T) *journey { t.Helper(); return inReview(t, flows.DeskFlow()).approve("") }
	limits := limitsOfARun(t)
	for _, row := range []struct {
		name   string
		run    func(*testing.T) *journey
		give   func(n int) rules.Command
		taken  int
		others rules.Command // is still taken; nil for none
		says   string
	}{
		{"verdicts of a program", finished, verdict, 999, note(1)(0), "the run has 1000 verdicts, and takes no more"},
		{"notes of one reviewer", reviewed, note(1), 100, rules.AddNote{Notes: "x", Identity: "ravi"}, "half of what it takes"},
		{"notes of two", reviewed, note(2), 200, assign(1, true)(0), "the run has 200 notes, and takes no more"},
		{"corrections of one person", reviewed, correct(1), 100, correct(2)(1), "half of what it takes"},
		{"corrections of two", reviewed, correct(2), 200, note(1)(0), "the run has 200 corrections, and takes no more"},
		{"assignments of one reviewer", reviewed, assign(1, false), 100, rules.Assign{Identity: "ravi"}, "half of what it takes"},
		{"assignments of two", reviewed, assign(2, false), 200, assign(1, true)(0), "the run has 200 assignments, and takes no more"},
		{"escalations of one reviewer", reviewed, assign(1, true), 100, assign(2, true)(1), "half of what it takes"},
		{"escalations of two", reviewed, assign(2, true), 200, note(1)(0), "the run has 200 escalations, and takes no more"},
		{"decisions on hits of one reviewer", doubtful, hit(1), 500, hit(2)(1), "half of what it takes"},
		{"decisions on hits of two", doubtful, hit(2), 1000, note(1)(0), "the run has 1000 decisions on hits, and takes no more"},
		{
			"proposals that one reviewer sends back", sentBack(1), func(int) rules.Command { return rules.ReturnProposal{Identity: "reviewer-0"} },
			0, verdictBy("ravi", rules.DecisionApprove), "half of what it takes",
		},
		{
			"proposals that two send back", sentBack(2), func(int) rules.Command { return rules.ReturnProposal{Identity: "meera"} },
			0, verdictBy("ravi", rules.DecisionApprove), "the run has 1000 proposed verdicts that were sent back, and takes no more",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := row.run(t)
			for n := range row.taken {
				j.grow(row.give(n))
			}
			before := j.run.Seq
			_, err := j.try(row.give(row.taken))
			if !errors.Is(err, rules.ErrFull) || !errors.Is(err, verification.ErrConflict) || !strings.Contains(fmt.Sprint(err), row.says) {
				t.Errorf("after %d: %v, want ErrFull that says %q", row.taken, err, row.says)
			}
			if j.run.Seq != before {
				t.Errorf("the refusal changed the run: %d events, want %d", j.run.Seq, before)
			}
			if row.others != nil {
				j.grow(row.others)
			}
			thing, _, _ := strings.Cut(strings.TrimPrefix(row.says, "the run has "), ",")
			number, thing, _ := strings.Cut(thing, " ")
			if limit, told := limits[thing]; strings.HasPrefix(row.says, "the run has ") {
				if !told || !strings.HasPrefix(strings.ReplaceAll(limit.number, ",", ""), number) || !strings.Contains(limit.answer, row.says) {
					t.Errorf("docs/limits.md says of %s %+v, want %q", thing, limit, row.says)
				}
				delete(limits, thing)
			}
		})
	}
	for _, thing := range []string{ // the tests below reach them
		"openings of the journey", "changes of a pending handle during one wait",
		"events of a run that goes on to another step", "data of a run that goes on to another step",
	} {
		delete(limits, thing)
	}
	for thing := range limits {
		t.Errorf("no test reaches the limit of %s in docs/limits.md", thing)
	}
}

type documentedLimit struct{ number, answer string }

// limitsOfARun returns the rows of the table of one run in docs/limits.md.
func limitsOfARun(t *testing.T) map[string]documentedLimit {
	t.Helper()
	raw, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "## One run")
	section, _, _ = strings.Cut(section, "## ")
	limits := map[string]documentedLimit{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && cells[0] != "| thing" && !strings.HasPrefix(cells[0], "| ---") {
			limits[strings.TrimPrefix(cells[0], "| ")] = documentedLimit{cells[1], cells[2]}
		}
	}
	return limits
}

// The customer's page is opened all the time, for years.
func TestOpeningsOfAJourneyAreBounded(t *testing.T) {
	d := flows.DeskFlow()
	d.RunTTLSeconds = 0
	j := begin(t, d, "")
	open := func(step time.Duration, until int) (longest time.Duration) {
		last, idle := j.run.Seq, time.Duration(0)
		for range until {
			j.after(step).grow(rules.OpenJourney{})
			if idle += step; j.run.Seq > last {
				longest, last, idle = max(longest, idle), j.run.Seq, 0
			}
		}
		return longest
	}
	if got := open(time.Second, 1000); got != time.Second {
		t.Errorf("the first openings are recorded every %s, want each second", got)
	}
	if got := open(time.Second, 600); got != time.Minute {
		t.Errorf("later openings are recorded every %s, want a tenth of the abandon timeout", got)
	}
	open(time.Minute, 10_000)
	if got := strings.Count(flows.Kinds(j.history), "journey_opened"); got != 10_000 {
		t.Errorf("%d openings are recorded, want 10,000", got)
	}
	j.submit(consents)
}

func TestALoopEndsAtTheBoundOfItsHistory(t *testing.T) {
	d := flows.Loop()
	d.RunTTLSeconds = 0
	large := `{"pan":"` + strings.Repeat("x", 900) + `"}`
	for _, row := range []struct {
		name string
		data string // of each check
		most int    // events
		says string
	}{
		{"events", "{}", 20_000, "20000 events"},
		{"bytes", `{"large":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "67108864 bytes"},
	} {
		j := begin(t, d, "")
		for j.run.Ended == "" && j.run.Seq < row.most+10 {
			j.grow(rules.Submit{Signal: j.run.Wait().Signal, Payload: flows.Data(t, large)})
			if w := j.run.Wait(); j.run.Ended == "" {
				j.grow(rules.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomeFailed, Data: flows.Data(t, row.data)})
			}
		}
		last, ok := j.history[len(j.history)-1].Fact.(rules.Failed)
		if !ok || !strings.Contains(last.Cause, row.says) || last.Error.Code != rules.CodeInternalError || j.run.Seq > row.most+3 {
			t.Errorf("%s: after %d events the run ended with %+v, want a failure that says %q", row.name, j.run.Seq, last, row.says)
		}
		j.grow(rules.GiveVerdict{Decision: rules.DecisionReject}) // any finished run can be decided
	}
}

func TestAPendingHandleChangesNotForEver(t *testing.T) {
	d := flows.Single(func(n *workflow.Node) {
		n.Poll = &workflow.Poll{IntervalSeconds: 1, TimeoutSeconds: 10 * 365 * 24 * 3600}
		n.Retry = &workflow.Retry{MaxDispatches: 1}
	})
	d.RunTTLSeconds = 0
	j := begin(t, d, "")
	for n := range 1100 {
		if w := j.run.Wait(); j.run.Ended == "" {
			j.after(time.Second).grow(rules.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePending, Handle: fmt.Sprint(n)})
		}
	}
	if j.run.Ended != rules.StatusFailed || j.run.Error.Code != rules.CodeCheckUnavailable || j.run.Seq > 1010 {
		t.Errorf("after %d events the run is %q (%v), want the check unavailable", j.run.Seq, j.run.Ended, j.run.Error)
	}
}
