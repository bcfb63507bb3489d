package rules_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// BenchmarkDecideEvolveStep measures the work between two calls of providers: one check answered, the next dispatched, and the events folded.
func BenchmarkDecideEvolveStep(b *testing.B) {
	second := flows.CheckNode("Courts", "done")
	j := begin(b, flows.Define("pan", flows.Nodes{"pan": flows.CheckNode("PAN", "courts"), "courts": second, "done": flows.EndNode()}), "")
	answer := rules.RecordResult{
		Node: "pan", Dispatch: 1, Outcome: verification.OutcomePassed,
		Data: flows.Data(b, `{"name_match":0.97,"registered":"ASHA RAO","source_ok":true}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		events, _, err := rules.Decide(j.program, j.run, answer, j.now)
		if err != nil || len(events) != 2 {
			b.Fatalf("Decide = %s, %v", flows.Kinds(events), err)
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
	j := begin(b, flows.Ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`)
	j.pend("ticket-1").result(verification.OutcomePassed, `{"name_match":0.97}`).pass()
	if len(j.history) != 12 {
		b.Fatalf("the history has %d events: %s", len(j.history), flows.Kinds(j.history))
	}
	return j
}

// BenchmarkFold makes the run of a history of twelve events.
func BenchmarkFold(b *testing.B) {
	j := twelve(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = rules.Fold(flows.RunID, j.history)
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
