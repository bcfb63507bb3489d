// Tests of the commands about retention.

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestThePlanOfRetentionCountsWhatIsDue(t *testing.T) {
	// On PostgreSQL, hosts ask the queue once a second, which days of a manual clock do not suit.
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "folder": onFolder} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/bootstrap.yaml")
			w.transcript()
			w.ctl("retention plan --tenant TENANT")
			apply := func(name string, r verification.Retention) verification.WorkflowID {
				return w.kit.Apply(workflow.Definition{Workflow: name, Name: name, Retention: r, Start: "done", Nodes: map[verification.NodeID]workflow.Node{
					"done": {Type: workflow.NodeEnd},
				}}).ID
			}
			short, long := apply("short", verification.Retention{RedactAfterDays: 2, DeleteAfterDays: 4}), apply("long", verification.Retention{RedactAfterDays: 30})
			var first verification.RunID
			for n := range 5 {
				run := w.kit.Start(short, engine.StartRequest{ReferenceID: "person-1"})
				w.kit.Start(long, engine.StartRequest{ReferenceID: "person-1"})
				if n == 0 {
					first = run.ID
				}
				w.kit.Advance(24 * time.Hour)
			}
			hold := rules.HoldRun{Reason: "in dispute", By: "asha", Identity: "asha"}
			if err := w.kit.Engine.HoldRun(t.Context(), tenant, first, hold); err != nil {
				t.Fatal(err)
			}
			w.kit.Advance(time.Hour)
			w.ctl("retention plan --tenant TENANT")
			w.ctl("retention plan --tenant TENANT --json")
			golden.Equal(t, "testdata/talks/retention.txt", w.transcript())
		})
	}
}

func TestAChangedPolicyIsToldBeforeItCounts(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "folder": onFolder} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/policy-long.yaml")
			w.transcript()
			for range 3 {
				w.start(records, "person-1") // it completes at once
			}
			w.kit.Advance(5 * 24 * time.Hour)
			w.ctl("apply --dry-run testdata/policy-short.yaml")
			w.ctl("apply testdata/policy-short.yaml")
			w.ctl("retention plan --tenant TENANT")
			if got := w.ctl("doctor"); !strings.Contains(got, "warn    retention") || !strings.Contains(got, "3 redacted from") {
				t.Errorf("the doctor says %s, want the change", got)
			}
			w.ctl("apply testdata/policy-long.yaml")
			w.ctl("retention plan --tenant TENANT")
			golden.Equal(t, "testdata/talks/retention-change.txt", withoutDoctor(w.transcript()))
		})
	}
}

// withoutDoctor cuts the lines of the doctor, which name the folder.
func withoutDoctor(transcript []byte) []byte {
	from := bytes.Index(transcript, []byte("$ verifyctl doctor"))
	to := from + bytes.Index(transcript[from:], []byte("\n$ verifyctl apply")) + 1
	return slices.Concat(transcript[:from], transcript[to:])
}
