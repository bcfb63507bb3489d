package expression_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
)

func TestWhatWasCompiledIsSharedSafely(t *testing.T) {
	texts := []string{
		`steps.pan.data.name_match < 0.8 || !steps.pan.passed`,
		`input.people.exists(p, p.age > 30 && p.age in [40, 50])`,
		`steps.pan.data.hits.map(h, h.score * 2).all(s, s > 0)`,
		`steps.details.data.pan.matches("^[A-Z]+") && input.name.lowerAscii() == "asha rao"`,
		// Failures, too: some are values that the library shares.
		`steps.pan.data.nowhere > 3`,
		`steps.review.passed`,
		`"a" in steps.pan.data.name`,
		`steps.pan.data.name.getHours() == 1`,
		`timestamp(steps.pan.dispatches * 9000000000000) > run.started_at`,
		`steps.pan.data.nested.matches("x")`,
	}
	type outcome struct {
		holds bool
		err   string
		seen  string
	}
	of := func(c verification.Condition) outcome {
		holds, seen, err := c.Holds(reached())
		o := outcome{holds: holds}
		if err != nil {
			o.err = err.Error()
		}
		if raw, err := json.Marshal(seen); err == nil {
			o.seen = string(raw)
		}
		return o
	}
	conditions := make([]verification.Condition, len(texts))
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
	var mu sync.Mutex
	got := make([]map[outcome]bool, len(texts))
	for n := range got {
		got[n] = map[outcome]bool{}
	}
	note := func(n int, o outcome) {
		mu.Lock()
		defer mu.Unlock()
		got[n][o] = true
	}
	for range 8 {
		wg.Go(func() {
			fresh := expression.New()
			for i := range 40 {
				n := i % len(texts)
				note(n, of(conditions[n]))
				c, err := fresh.Condition(texts[n], declared())
				if err != nil {
					t.Errorf("%s: %v", texts[n], err)
					continue
				}
				note(n, of(c))
				if _, err := tpl.Render(reached()); err != nil {
					t.Errorf("Render = %v, want no error", err)
				}
				if faults := schema.Check(verification.Data(`{"age":"x","tags":[1]}`)); len(faults) != 2 {
					t.Errorf("Check = %v, want 2 faults", faults)
				}
			}
		})
	}
	wg.Wait()
	for n, text := range texts {
		if want := of(compiled(t, text)); len(got[n]) != 1 || !got[n][want] {
			t.Errorf("%s = %+v, want %+v alone", text, got[n], want)
		}
	}
}
