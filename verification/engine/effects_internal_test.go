package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEffectsFollowFromTwoStatesOfARun(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	event := func(f rules.Fact) rules.Event { return rules.Event{At: noon, Fact: f} }
	parked := []rules.Event{
		event(rules.Started{WorkflowName: "w", ReferenceID: "r"}), event(rules.CustomerAwaited{Node: "form", Type: workflow.NodeCustomerInput}),
		event(rules.DocumentUploaded{Node: "form", Document: "1", Field: "pan"}),
	}
	over := append(parked[:2:2], event(rules.CustomerSubmitted{Node: "form"}), event(rules.Completed{Node: "end"}))
	redacted := append(over[:4:4], event(rules.Redacted{Digest: "00"}))
	waiting := append(parked[:1:1], event(rules.ReviewAsked{Node: "review"}))
	notifies := workflow.Definition{Notify: []workflow.NoticeEvent{workflow.NoticeReviewNeeded}}
	key := func(k store.WorkKind, seq int) store.WorkKey { return store.WorkKey{Kind: k, Seq: seq} }
	for _, c := range []struct {
		name    string
		history []rules.Event
		last    int // events that are new
		d       workflow.Definition
		want    store.DueWork
	}{
		{"an upload", parked, 1, workflow.Definition{}, store.DueWork{}},
		{"the end, without the upload", append(parked[:3:3], over[2:]...), 2, workflow.Definition{}, store.DueWork{
			key(store.WorkAnnounce, 0): noon, key(store.WorkErase, 0): noon.Add(unusedFor),
		}},
		{"an end", over, 2, workflow.Definition{}, store.DueWork{key(store.WorkAnnounce, 0): noon}},
		{"a review of which the workflow tells", waiting, 1, notifies, store.DueWork{key(store.WorkAnnounce, 2): noon}},
		{"a review of which it does not", waiting, 1, workflow.Definition{}, store.DueWork{}},
		{"a redaction", redacted, 1, workflow.Definition{}, store.DueWork{key(store.WorkRetain, 0): noon.Add(retainAgain)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := len(c.history) - c.last
			before := rules.Fold(verification.RunID("r"), c.history[:n])
			work := store.DueWork{}
			effectsOf(c.d, before, before.EvolveAll(c.history[n:]), c.history[n:]).queue(work, noon)
			if diff := cmp.Diff(c.want, work); diff != "" {
				t.Errorf("the work (-want +got):\n%s", diff)
			}
		})
	}
}
