package main

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// testSearchKey is the search key of the hosts of these tests.
var testSearchKey = strings.Repeat("k", 32)

func TestTheRunsOfAPersonAreRedacted(t *testing.T) {
	for _, store := range []struct {
		name string
		open func(*testing.T) *world
	}{{"memory", onMemory}, {"postgres", onPostgres}, {"folder", onFolder}} {
		t.Run(store.name, func(t *testing.T) {
			w := store.open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/bootstrap.yaml")
			w.transcript()
			searched := verification.Data(`{"type":"object","properties":{"name":{"type":"string","x-search":true},
				"born":{"type":"string","x-search":true}}}`)
			ended := w.kit.Apply(workflow.Definition{
				Workflow: "people", Name: "People", Start: "done",
				InputSchema: searched,
				Nodes:       map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
			}).ID
			waiting := w.kit.Apply(workflow.Definition{
				Workflow: "waiting", Name: "Waiting", Start: "look",
				InputSchema: searched,
				Nodes:       map[verification.NodeID]workflow.Node{"look": {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd}},
			}).ID
			begin := func(id verification.WorkflowID, reference, input string) {
				w.kit.Start(id, engine.StartRequest{ReferenceID: reference, Input: verification.Data(input)})
			}
			begin(ended, "person-1", `{"name":"Asha Rao","born":"1990-01-31"}`)
			begin(ended, "person-1", `{"name":"Asha Rao","born":"1990-01-31"}`)
			for i, person := range []string{"person-1", "person-5"} { // found by the name, and only the second one is held
				run := w.kit.Start(ended, engine.StartRequest{ReferenceID: person, Input: verification.Data(`{"name":"Asha Rao"}`)}).ID
				w.kit.Settle()
				if err := w.kit.Clock.Advance(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
				command := []string{"restrict", "hold"}[i]
				w.ctl("run " + command + " " + string(run) + " --reason contested")
			}
			w.transcript()
			begin(waiting, "person-1", `{"name":"Asha Rao"}`)
			begin(ended, "person-2", `{"name":"Asha Iyer","born":"1988-04-12"}`)
			begin(ended, "person-3", `{"name":"Asha Iyer","born":"1990-01-31"}`)
			for _, line := range []string{
				"--reference person-1 --dry-run", "--reference person-9", "--reference redacted", "--reference person-1 --person Asha", "",
				"--reference person-1 --born 1990-01-31", "--reference person-1 --json", "--person Asha --born 1990 --dry-run",
			} {
				w.ctl("run redact --tenant TENANT " + line)
			}
			w.ctlWith("no\n", "run redact --tenant TENANT --reference person-1")
			w.ctlWith("yes\n", "run redact --tenant TENANT --reference person-1")
			w.ctl("run redact --tenant TENANT --reference person-1 --yes --json")
			w.ctl("run redact --tenant TENANT --person Asha --yes")
			said := w.transcript()
			if store.name != "memory" { // it has no key to compare with
				w.env["VERIFYD_SEARCH_KEY"] = strings.Repeat("x", 32)
				w.keepsSearchKey(t)
				w.ctl("run redact --tenant TENANT --person Asha --yes")
				if answer := string(w.transcript()); !strings.Contains(answer, "the hosts had another key first") {
					t.Errorf("with another key: %s", answer)
				}
			}
			w.env["VERIFYD_SEARCH_KEY"] = testSearchKey
			w.said.Write(said)
			w.ctl("run redact --tenant TENANT --person Asha --dry-run")
			w.ctl("run redact --tenant TENANT --person Asha --born 1990-01-31 --dry-run --json")
			w.ctl("run redact --tenant TENANT --person Asha --born 1988-04-12 --yes")
			w.ctl("run redact --tenant TENANT --person Nobody --yes")
			golden.Equal(t, "testdata/talks/redact-person.txt", w.transcript())
		})
	}
}

// keepsSearchKey does what the first host with the search key does.
func (w *world) keepsSearchKey(t *testing.T) {
	t.Helper()
	db := w.database()
	defer func() { _ = db.close() }()
	var err error
	if folder := w.env["VERIFYD_DATA_DIR"]; folder != "" {
		_, err = folderKeys{datadir.Folder(folder)}.keepSearch(t.Context(), []byte(testSearchKey), "")
	} else if shared, ok := db.Store.(searchChecker); ok {
		_, err = shared.SearchCheck(t.Context(), cli.SearchCheck([]byte(testSearchKey)))
	}
	if err != nil {
		t.Fatal(err)
	}
}
