// The provider in runs of a workflow.

package registry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/registry"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const workflow = `
workflow: company
name: Company
start: company
input_schema: {type: object, required: [number], properties: {number: {type: string}}}
nodes:
  company: {type: check, provider: registry, with: {number: "${input.number}"}, next: done, on_failed: next, on_unavailable: next,
    retry: {max_dispatches: 2, backoff_seconds: 5}}
  done: {type: end}
`

func TestCompaniesAreChecked(t *testing.T) {
	down := true // until the first request to it
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/1":
			_, _ = w.Write([]byte(`{"name": "Acme", "active": true}`))
		case "/2":
			_, _ = w.Write([]byte(`{"name": "Gone", "active": false}`))
		case "/3":
			if down {
				down = false
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = w.Write([]byte(`{"active": true}`))
		case "/5":
			_, _ = w.Write([]byte(`<html>`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer vendor.Close()
	kit := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["registry"] = registry.Registry{URL: vendor.URL + "/", HTTP: vendor.Client()}
	})
	file, err := definition.ReadWorkflow("company.yaml", []byte(workflow))
	if err != nil {
		t.Fatal(err)
	}
	of := kit.Apply(file.Definition)
	for number, want := range map[string]rules.StepStatus{"1": rules.StepPassed, "2": rules.StepFailed, "3": rules.StepPassed, "4": rules.StepFailed} {
		id := kit.Start(of.ID, engine.StartRequest{ReferenceID: number, Input: verification.Data(`{"number": "` + number + `"}`)}).ID
		kit.Advance(10 * time.Second) // a repetition is due after five
		if run := kit.Run(id); len(run.Checks) != 1 || run.Checks[0].Status != want {
			t.Errorf("company %s = %+v, want it %s", number, run.Checks, want)
		}
	}
	id := kit.Start(of.ID, engine.StartRequest{ReferenceID: "5", Input: verification.Data(`{"number": "5"}`)}).ID
	kit.Advance(10 * time.Second)
	if run := kit.Run(id); run.Decision != rules.DecisionReview {
		t.Errorf("without an answer of the registry the run is %s %q, want a review", run.Status, run.Decision)
	}
}
