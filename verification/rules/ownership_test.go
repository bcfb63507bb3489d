package rules_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// keptRuns are runs, each with a copy of everything in it as text.
type keptRuns struct {
	runs  []rules.Run
	texts []string
}

func (k *keptRuns) keep(r rules.Run) {
	k.runs, k.texts = append(k.runs, r), append(k.texts, picture(r))
}

// unchanged fails if a run is no longer as it was when it was kept.
func (k *keptRuns) unchanged(t flows.Tester) {
	t.Helper()
	for n, r := range k.runs {
		if got := picture(r); got != k.texts[n] {
			t.Fatalf("run %d of %d changed after it was returned:\n got %s\nwant %s", n, len(k.runs), got, k.texts[n])
		}
	}
}

// any draws a run, mostly one of the newest, so that histories grow.
func (k *keptRuns) any(t *rapid.T) rules.Run {
	back := rapid.SampledFrom([]int{1, 1, 1, 2, 3, 8, len(k.runs)}).Draw(t, "back")
	return k.runs[max(0, len(k.runs)-back)]
}

// Every run that is returned is folded further in several ways, by events that can and
// cannot happen and by commands.
func TestNoRunSeesTheChangesOfAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := begin(t, rapid.SampledFrom([]workflow.Definition{flows.DeskFlow(), flows.Ladder(), flows.Loop()}).Draw(t, "definition"), "")
		if somewhere := situations()[1:]; rapid.Bool().Draw(t, "further on") {
			j = somewhere[rapid.IntRange(0, len(somewhere)-1).Draw(t, "situation")].reach(t)
		}
		var kept keptRuns
		kept.keep(rules.Run{ID: flows.RunID})
		for r := kept.runs[0]; r.Seq < len(j.history); kept.keep(r) {
			r = r.Evolve(j.history[r.Seq])
		}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			r := kept.any(t)
			switch rapid.IntRange(0, 4).Draw(t, "by") {
			case 0:
				kept.keep(r.Evolve(anyEvent(t)))
			case 1:
				kept.keep(r.EvolveAll([]rules.Event{anyEvent(t), anyEvent(t), anyEvent(t)}))
			case 2:
				kept.keep(r.AsOf(j.after(flows.NextWait(t, j.run, j.now)).now))
			default:
				j.run = r
				if _, after, err := rules.Decide(j.program, r, flows.NextCommand(t, j.program, r), j.now); err == nil {
					kept.keep(after)
				}
			}
		}
		kept.unchanged(t)
	})
}

func TestTwoFuturesOfARunAreSeparate(t *testing.T) {
	asked := func(n verification.NodeID) rules.Event {
		return rules.Event{At: flows.Noon(), Fact: rules.ReviewAsked{Node: n}}
	}
	var kept keptRuns
	for _, s := range situations()[1:] {
		start := s.reach(t).run
		kept.keep(start)
		for _, r := range []rules.Run{
			start.Evolve(asked("last")),
			start.EvolveAll([]rules.Event{asked("first"), asked("last")}), // its steps have room for more
		} {
			one, other := r.Evolve(asked("one")), r.Evolve(asked("other"))
			for _, c := range []struct {
				run  rules.Run
				want verification.NodeID
			}{{r, "last"}, {one, "one"}, {other, "other"}} {
				if got := c.run.Steps[len(c.run.Steps)-1].Node; got != c.want {
					t.Errorf("the run ends with the step %s, want %s", got, c.want)
				}
				kept.keep(c.run)
				c.run.Evolve(asked(c.want)) // a second visit of the step
				c.run.EvolveAll([]rules.Event{asked(c.want)})
			}
		}
	}
	kept.unchanged(t)
}
