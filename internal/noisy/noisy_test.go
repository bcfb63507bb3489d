// The short form: a bystander is served beside every attack.

package noisy_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/noisy"
)

// maxTook is very generous: the tests run on busy machines. It is still less than what
// a bystander waits for when it has to queue behind the attacker.
const maxTook = 8 * time.Second

func TestABystanderIsServedBesideEveryAttack(t *testing.T) {
	t.Parallel()
	result, err := noisy.Measure(t.Context(), noisy.Options{
		Scale: noisy.Short(), Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Definitions {
		if d.Verdict == noisy.Neither {
			t.Errorf("%s: neither accepted nor refused after %s, or out of memory", d.Name, d.Took)
		}
	}
	if want := len(noisy.Attacks()) * len(noisy.Stores()); len(result.Rows) != want {
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
		if row.Errors() > 0 || row.Slowest() > maxTook || len(row.Crashes) > 0 {
			t.Errorf("%s: %d errors, the slowest call %s, crashes %q: %s",
				name, row.Errors(), row.Slowest(), row.Crashes, row)
		}
	}
}
