// The short version: a bystander is served during every attack.

package noisy_test

import (
	"testing"

	"github.com/verifyd/verifyd/hosts/internal/noisy"
)

func TestABystanderIsServedBesideEveryAttack(t *testing.T) {
	t.Parallel()
	attacks := noisy.Attacks()[1:] // without the control
	result, err := noisy.Measure(t.Context(), noisy.Options{
		Scale: noisy.Short(), Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Definitions {
		if d.Result == noisy.Unfinished {
			t.Errorf("%s: neither accepted nor refused after %s, or out of memory", d.Name, d.Took)
		}
		if d.Want != "" && d.Result != d.Want {
			t.Errorf("%s: %s, want %s: %s", d.Name, d.Result, d.Want, d.Reason)
		}
	}
	if want := len(attacks) * len(noisy.Stores()); len(result.Rows) != want {
		t.Fatalf("%d rows, want %d", len(result.Rows), want)
	}
	for _, row := range result.Rows {
		name := row.Attack + ", " + string(row.Store)
		if row.Requests == 0 {
			t.Errorf("%s: the attacker did nothing", name)
		}
		for _, call := range noisy.Calls() {
			if row.Beside[call].Count() == 0 {
				t.Errorf("%s: no %s was measured", name, call)
			}
		}
		if row.Errors() > 0 || len(row.Crashes) > 0 {
			t.Errorf("%s: %d errors, crashes %q: %s", name, row.Errors(), row.Crashes, row)
		}
	}
}
