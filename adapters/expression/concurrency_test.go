package expression_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestWhatWasCompiledIsSharedSafely(t *testing.T) {
	texts := []string{
		// Failures come first, because the library shares some of their values.
		`steps.pan.data.nested.matches("x")`,
		`timestamp(steps.pan.dispatches * 9000000000000) > run.started_at`,
		`steps.pan.data.nowhere > 3`,
		`steps.review.passed`,
		`"a" in steps.pan.data.name`,
		`steps.pan.data.name.getHours() == 1`,
		`steps.pan.data.name_match < 0.8 || !steps.pan.passed`,
		`input.people.exists(p, p.age > 30 && p.age in [40, 50])`,
		`steps.pan.data.hits.map(h, h.score * 2).all(s, s > 0)`,
		`steps.details.data.pan.matches("^[A-Z]+") && input.name.lowerAscii() == "asha rao"`,
	}
	type outcome struct {
		Holds bool
		Err   string
		Seen  string
	}
	of := func(c workflow.Condition) outcome {
		holds, seen, err := c.Holds(reached())
		o := outcome{Holds: holds}
		if err != nil {
			o.Err = err.Error()
		}
		if raw, err := json.Marshal(seen); err == nil {
			o.Seen = string(raw)
		}
		return o
	}
	conditions := make([]workflow.Condition, len(texts))
	for i, text := range texts {
		conditions[i] = compiled(t, text)
	}
	tpl, err := language.Template(verification.Data(`{"a":"${input.people}","b":["x ${steps.pan.data.name}"]}`), declared())
	if err != nil {
		t.Fatal(err)
	}
	schema, err := language.Schema(verification.Data(onboarding))
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is evaluated before the goroutines start: a first failure is what
	// would write into shared values.
	var wg sync.WaitGroup
	got := make([][]map[outcome]bool, 8) // by goroutine and text
	start := make(chan struct{})
	for g := range got {
		got[g] = make([]map[outcome]bool, len(texts))
		wg.Go(func() {
			fresh := expression.New()
			<-start
			for i := range 40 {
				n := i % len(texts)
				if got[g][n] == nil {
					got[g][n] = map[outcome]bool{}
				}
				got[g][n][of(conditions[n])] = true
				c, err := fresh.Condition(texts[n], declared())
				if err != nil {
					t.Errorf("%s: %v", texts[n], err)
					continue
				}
				got[g][n][of(c)] = true
				if _, err := tpl.Render(reached()); err != nil {
					t.Errorf("Render = %v, want no error", err)
				}
				if problems := schema.Check(verification.Data(`{"age":"x","tags":[1]}`)); len(problems) != 2 {
					t.Errorf("Check = %v, want 2 problems", problems)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	for n, text := range texts {
		want := map[outcome]bool{of(compiled(t, text)): true}
		for g := range got {
			if diff := cmp.Diff(want, got[g][n]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}
