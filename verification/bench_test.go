package verification_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
)

// BenchmarkDecideEvolveStep measures the work between two calls of providers: one check answered, the next dispatched, and the events folded.
func BenchmarkDecideEvolveStep(b *testing.B) {
	second := checkNode("Courts", "done")
	j := begin(b, define("pan", nodes{"pan": checkNode("PAN", "courts"), "courts": second, "done": endNode()}), "")
	answer := verification.RecordResult{
		Node: "pan", Dispatch: 1, Outcome: verification.OutcomePassed,
		Data: data(b, `{"name_match":0.97,"registered":"ASHA RAO","source_ok":true}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		events, _, err := verification.Decide(j.program, j.run, answer, j.now)
		if err != nil || len(events) != 2 {
			b.Fatalf("Decide = %s, %v", kinds(events), err)
		}
		after := j.run
		for _, e := range events {
			after = after.Evolve(e)
		}
		_ = after.Summary()
	}
}

// twelve returns the twelve events of a typical run.
func twelve(b *testing.B) *journey {
	b.Helper()
	j := begin(b, ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`)
	j.pend("ticket-1").result(verification.OutcomePassed, `{"name_match":0.97}`).pass()
	if len(j.history) != 12 {
		b.Fatalf("the history has %d events: %s", len(j.history), kinds(j.history))
	}
	return j
}

// BenchmarkFold makes the run of a history of twelve events.
func BenchmarkFold(b *testing.B) {
	j := twelve(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = verification.Fold(runID, j.history)
	}
}

// BenchmarkDetail reads a folded run.
func BenchmarkDetail(b *testing.B) {
	j := twelve(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = j.run.Detail(j.now)
	}
}
