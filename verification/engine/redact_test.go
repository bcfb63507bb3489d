// Tests of redaction: nothing personal is left, and nothing else changes.

package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// eraser is who redacts in these tests.
var eraser = verification.Person{Name: "root", Identity: "operator#root"}

// kept is a workflow that keeps something of every kind about its person.
func kept() workflow.Definition {
	d := portrait()
	d.Start = "ask"
	d.InputSchema = verification.Data(`{"type":"object","properties":{"name":{"type":"string","x-search":true}}}`)
	d.LifecycleWebhookURL = "https://client.example/hook"
	d.Nodes["ask"] = workflow.Node{Type: workflow.NodeCheck, Provider: "script", With: verification.Data(`{"name":"${input.name}"}`), Next: "photo"}
	form := d.Nodes["photo"]
	form.Fields[1].Search, form.Next = true, "gate"
	d.Nodes["photo"] = form
	d.Nodes["gate"] = workflow.Node{Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "input.name != ''", Next: "look"}}, Else: "done"}
	d.Nodes["look"] = workflow.Node{Type: workflow.NodeReview, Next: "done"}
	return d
}

// lived returns a run of the workflow that is over, with a text in everything that can be filled in.
func lived(t *testing.T, k *enginetest.Kit, text string) verification.RunID {
	t.Helper()
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{
		ReferenceID: text, Input: verification.Data(`{"name":"` + text + `"}`), IdempotencyKey: "key of " + text,
	})
	j := openJourney(t, k, run)
	d, err := k.Engine.UploadDocument(t.Context(), j, j.Step.WaitNumber, "face", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	k.Submit(run.ID, "photo_submitted", map[string]any{"face": map[string]any{"document_id": d.ID}, "name": text})
	for _, act := range []func() error{
		func() error {
			return k.Engine.AddNote(t.Context(), enginetest.Tenant, run.ID, rules.AddNote{Notes: text, By: "asha", Identity: "asha"})
		},
		func() error {
			_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: text, By: "asha", Identity: "asha"}, "")
			return err
		},
	} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
	}
	k.Settle()
	return run.ID
}

// echo is a provider that keeps nothing, and answers with the name that it is asked for.
type echo struct{}

func (echo) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"found": r.With["name"], "source_ok": true}}, nil
}

func holding(p *engine.Ports, _ *engine.Options) {
	p.Documents, p.Sanitize = blob.Memory(1<<20, 1<<20), unchanged
	p.Providers = map[string]verification.Provider{"script": echo{}}
}

// forgetful is a notifier that keeps nothing.
type forgetful struct{}

func (forgetful) Notify(context.Context, rules.Notice) error { return nil }

func redact(t *testing.T, k *enginetest.Kit, run verification.RunID) rules.RunDetail {
	t.Helper()
	d, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run, "", eraser)
	if err != nil {
		t.Fatalf("Redact = %v", err)
	}
	k.Settle()
	return d
}

func TestNothingThatIsReadOfARedactedRunIsPersonal(t *testing.T) {
	const canary = "Kanarienvogel"
	var documents verification.DocumentStore
	k := enginetest.New(t, holding, searching, func(p *engine.Ports, _ *engine.Options) { documents = p.Documents })
	run := lived(t, k, canary)
	read := func() (texts string) {
		detail, err1 := k.Engine.Run(t.Context(), enginetest.Tenant, run)
		report, err2 := k.Engine.Report(t.Context(), enginetest.Tenant, run)
		history, err3 := k.Engine.History(t.Context(), enginetest.Tenant, run)
		runs, err4 := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}})
		for _, v := range []any{detail, report, history.Run, history.Events, runs} {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			texts += string(raw)
		}
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	before, seen := k.Run(run), k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch(canary))
	if n := strings.Count(read(), canary); n < 10 || len(seen) == 0 {
		t.Fatalf("%d canaries are read before: is the run complete?", n)
	}
	uploads, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil || len(uploads.Run.Documents) != 1 {
		t.Fatalf("%d documents, %v", len(uploads.Run.Documents), err)
	}
	after := redact(t, k, run)
	if text := read(); strings.Contains(text, canary) {
		t.Errorf("a canary is left: %s", text)
	}
	if after.Status != before.Status || after.Decision != before.Decision || after.RedactedAt.IsZero() || after.ReferenceID != "redacted" {
		t.Errorf("after the redaction the run reads %+v", after)
	}
	if found, err := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Keys: seen}); err != nil || found.Total != 0 {
		t.Errorf("%d runs are found by the name, %v", found.Total, err)
	}
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: run}
	if _, err := documents.Document(t.Context(), ref, uploads.Run.Documents[0].ID); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("the document: %v, want ErrNotFound", err)
	}
	again := redact(t, k, run)
	if !again.RedactedAt.Equal(after.RedactedAt) || again.Seq != after.Seq {
		t.Errorf("asked twice: %+v, then %+v", after, again)
	}
}

// TestNoLiveObjectHasDataOfARedactedRun looks for the text in a dump of the heap: no cache, index or
// queue of the engine or of the store keeps it, and ten minutes later no cache of another host that had read
// the run.
func TestNoLiveObjectHasDataOfARedactedRun(t *testing.T) {
	k := enginetest.New(t, holding, searching, func(p *engine.Ports, _ *engine.Options) { p.Notifier = forgetful{} })
	other := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store, p.Clock = k.Store, k.Clock })
	name := make([]byte, 24) // never a text of the test: the heap must not have it because of the test
	_, _ = rand.Read(name)
	mask := func(b []byte) []byte {
		out := make([]byte, len(b))
		for i := range b {
			out[i] = b[i] ^ 0x5a
		}
		return out
	}
	masked := mask([]byte(hex.EncodeToString(name)))
	var run verification.RunID
	var done sync.WaitGroup
	done.Go(func() { // its stack is gone afterwards
		text := string(mask(masked))
		run = lived(t, k, text)
		_, _ = k.Engine.Report(t.Context(), enginetest.Tenant, run)
		_, _ = other.Engine.Run(t.Context(), enginetest.Tenant, run)
	})
	done.Wait()
	if heapHas(t, masked, mask) == 0 {
		t.Fatal("the heap has no trace of the run before: is the dump read right?")
	}
	redact(t, k, run)
	if heapHas(t, masked, mask) == 0 {
		t.Error("the other host has not cached the run: what does the test show?")
	}
	k.Advance(10 * time.Minute)
	if n := heapHas(t, masked, mask); n > 0 {
		t.Errorf("the heap has the text %d times", n)
	}
	runtime.KeepAlive(k)
	runtime.KeepAlive(other)
}

// heapHas returns how often a masked text stands in a dump of the heap.
func heapHas(t *testing.T, masked []byte, mask func([]byte) []byte) int {
	t.Helper()
	runtime.GC()
	runtime.GC()
	f, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	debug.WriteHeapDump(f.Fd())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(mask(raw), masked)
}

func TestDocumentsAreErasedWithoutTheVersion(t *testing.T) {
	k := enginetest.New(t, holding)
	run := lived(t, k, "Asha")
	h, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil || len(h.Run.Documents) != 1 {
		t.Fatalf("%d documents, %v", len(h.Run.Documents), err)
	}
	if err := k.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var documents verification.DocumentStore
	other := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) {
		documents = p.Documents
		p.Store = replace(k.Store, func(s *ports) {
			s.WorkflowStore = &mock.WorkflowStoreMock{
				WorkflowFunc: k.Store.Workflow,
				VersionFunc: func(context.Context, verification.TenantID, verification.WorkflowID, string) (workflow.Version, error) {
					return workflow.Version{}, verification.NotFound("version")
				},
			}
		})
	})
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: run}
	if _, err := documents.SaveDocument(t.Context(), ref, h.Run.Documents[0], strings.NewReader("Asha")); err != nil {
		t.Fatal(err)
	}
	redact(t, other, run)
	if _, err := documents.Document(t.Context(), ref, h.Run.Documents[0].ID); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("the document: %v, want ErrNotFound", err)
	}
}

func TestARedactionWaitsForItsNotice(t *testing.T) {
	k := enginetest.New(t, holding)
	k.Notices.FailWith(errors.New("away"))
	run := lived(t, k, "Asha")
	_, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run, "", eraser)
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "a notice of the run is neither delivered nor given up") {
		t.Errorf("Redact = %v, want the reason", err)
	}
	if got := k.Run(run); got.ReferenceID != "Asha" {
		t.Errorf("the refused redaction changed the run: %+v", got)
	}
	k.Advance(time.Minute)
	redact(t, k, run)
}

func TestARedactedRunClearsNobody(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	asha := person{"asha-1", "ABCDE1234F", "ABCDE1234F"}
	run := asha.decided(t, k, w, "e-1")
	if later := asha.begin(k, w); later.Decision == rules.DecisionReview {
		t.Fatalf("the hit of a later run is not cleared: %+v", later)
	}
	redact(t, k, run)
	if later := asha.begin(k, w); later.Decision != rules.DecisionReview {
		t.Errorf("a hit is cleared by the decision of a redacted run: %+v", later)
	}
}

// What a redacted run has cleared stays cleared while it is approved, and no longer once it is rejected.
func TestARedactedRunThatIsRejectedFlagsWhatItCleared(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	asha, ravi := person{"asha-1", "ABCDE1234F", "ABCDE1234F"}, person{"ravi-1", "ABCDE1234G", "ABCDE1234G"}
	first, other := asha.decided(t, k, w, "e-1"), ravi.decided(t, k, w, "e-1")
	rests, bystander := asha.begin(k, w).ID, ravi.begin(k, w).ID
	redact(t, k, first)
	k.Settle()
	wantDecision(t, k, "while the source is approved", rests, rules.DecisionNone)
	ruled(t, k, first, "ravi", rules.DecisionApprove)
	wantDecision(t, k, "after another approval", rests, rules.DecisionNone)
	ruled(t, k, first, "ravi", rules.DecisionReject)
	wantDecision(t, k, "after the rejection", rests, rules.DecisionReview)
	wantDecision(t, k, "a run that rests on another source", bystander, rules.DecisionNone)
	if flags := k.Run(rests).Flags; len(flags) != 1 || flags[0].Reason != "A hit was cleared by a decision that no longer counts." {
		t.Errorf("the flags are %+v", flags)
	}
	ruled(t, k, rests, "meena", rules.DecisionApprove)
	ruled(t, k, first, "ravi", rules.DecisionApprove)
	ruled(t, k, first, "ravi", rules.DecisionReject)
	wantDecision(t, k, "after its own verdict", rests, rules.DecisionApprove)
	ruled(t, k, other, "ravi", rules.DecisionReject)
	wantDecision(t, k, "a source that is not redacted", bystander, rules.DecisionReview)
}

// The recheck of a rejection that a redaction follows at once is not lost.
func TestARedactionLeavesARecheck(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	asha := person{"asha-1", "ABCDE1234F", "ABCDE1234F"}
	first := asha.decided(t, k, w, "e-1")
	rests := asha.begin(k, w).ID
	give := rules.GiveVerdict{Decision: rules.DecisionReject, By: "ravi", Identity: "ravi"}
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, first, give, ""); err != nil {
		t.Fatal(err)
	}
	redact(t, k, first)
	k.Settle()
	wantDecision(t, k, "after both", rests, rules.DecisionReview)
}

// A run may rest on two sources, of which one is redacted. Another run that keeps the hit counts, too.
func TestARedactedRunUpholdsOnlyWhatNobodyKeeps(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	asha := person{"asha-1", "ABCDE1234F", "ABCDE1234F"}
	kept := asha.begin(k, w).ID
	first := asha.decided(t, k, w, "e-1")
	rests := asha.begin(k, w).ID
	redact(t, k, first)
	wantDecision(t, k, "before", rests, rules.DecisionNone)
	if err := settle(k, kept, "e-1", "ravi", rules.MatchSame); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	wantDecision(t, k, "after another run keeps the hit", rests, rules.DecisionReview)
}

func TestAnotherHostShowsTheRedactedRun(t *testing.T) {
	k := enginetest.New(t, holding)
	other := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store, p.Clock = k.Store, k.Clock })
	run := lived(t, k, "Asha")
	if d, err := other.Engine.Run(t.Context(), enginetest.Tenant, run); err != nil || d.ReferenceID != "Asha" {
		t.Fatalf("before: %+v, %v", d, err)
	}
	redact(t, k, run)
	d, err := other.Engine.Run(t.Context(), enginetest.Tenant, run)
	if raw, _ := json.Marshal(d); err != nil || strings.Contains(string(raw), "Asha") || d.ReferenceID != "redacted" {
		t.Errorf("after: %s, %v", raw, err)
	}
}

func TestARedactionAndAVerdictFollowEachOther(t *testing.T) {
	k := enginetest.New(t, holding)
	for n := range 20 {
		run := lived(t, k, fmt.Sprintf("Asha-%d", n))
		var both sync.WaitGroup
		var refused error
		both.Go(func() { _, refused = k.Engine.Redact(t.Context(), enginetest.Tenant, run, "", eraser) })
		both.Go(func() {
			v := rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "Asha again", By: "ravi", Identity: "ravi"}
			if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, v, ""); err != nil {
				t.Errorf("GiveVerdict = %v", err)
			}
		})
		both.Wait()
		h, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
		if err != nil || refused != nil {
			t.Fatalf("History = %v, Redact = %v", err, refused)
		}
		kinds := ""
		for _, e := range h.Events[len(h.Events)-2:] {
			kinds += e.Kind() + " "
		}
		raw, _ := json.Marshal(h.Events)
		switch left := strings.Count(string(raw), "Asha"); kinds {
		case "redacted verdict_recorded ": // the notes are new data
			if left != 1 {
				t.Errorf("%s: %d times in %s", kinds, left, raw)
			}
		case "verdict_recorded redacted ":
			if left != 0 {
				t.Errorf("%s: %d times in %s", kinds, left, raw)
			}
		default:
			t.Errorf("the last events are %s", kinds)
		}
		if h.Report.Decision != rules.DecisionReject {
			t.Errorf("the decision is %q", h.Report.Decision)
		}
	}
}

func TestAHoldKeepsARunFromBeingRedacted(t *testing.T) {
	k := enginetest.New(t, holding)
	run := lived(t, k, "Asha")
	hold := rules.HoldRun{Reason: "in dispute", By: "Ravi", Identity: "ravi"}
	if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run, rules.HoldRun{By: "Ravi", Identity: "ravi"}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a hold without a reason: %v, want ErrInvalid", err)
	}
	for range 2 { // asked twice, it is one
		if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run, hold); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run, "", eraser); err == nil || err.Error() != "run: the run is under a hold" {
		t.Errorf("Redact = %v", err)
	}
	end := rules.EndHold{By: "Ravi", Identity: "ravi"}
	if err := k.Engine.EndHold(t.Context(), enginetest.Tenant, run, end); err != nil {
		t.Fatal(err)
	}
	if err := k.Engine.EndHold(t.Context(), enginetest.Tenant, run, end); !errors.Is(err, rules.ErrNoHold) {
		t.Errorf("the end of no hold: %v", err)
	}
	redact(t, k, run)
	h, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
	if raw, _ := json.Marshal(h.Events); err != nil || strings.Contains(string(raw), "dispute") {
		t.Errorf("the reason is left: %s, %v", raw, err)
	}
}

func TestARepeatedRedactionRemovesWhatIsLeft(t *testing.T) {
	var documents verification.DocumentStore
	k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { documents = p.Documents })
	run := lived(t, k, "Asha")
	redact(t, k, run)
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: run}
	late := verification.Document{ID: "e0000000-0000-7000-8000-000000000001"}
	if _, err := documents.SaveDocument(t.Context(), ref, late, strings.NewReader("left")); err != nil {
		t.Fatal(err)
	}
	redact(t, k, run)
	if _, err := documents.Document(t.Context(), ref, late.ID); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("the document that was left: %v, want ErrNotFound", err)
	}
}

func TestAllRunsOfAPersonAreRedacted(t *testing.T) {
	k := enginetest.New(t, holding, searching)
	short := k.Apply(workflow.Definition{
		Workflow: "short", Name: "Short", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	})
	first := lived(t, k, "Asha")
	ended := []verification.RunID{k.Start(short.ID, engine.StartRequest{ReferenceID: "Asha"}).ID, first}
	other, live := lived(t, k, "Ravi"), k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "Asha", Input: verification.Data(`{"name":"Asha"}`)}).ID
	for _, q := range []store.RunQuery{{}, {ReferenceID: rules.RedactedReference}, {Status: rules.StatusCompleted}} {
		if _, err := k.Engine.RedactRuns(t.Context(), enginetest.Tenant, q, eraser, nil); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("%+v: RedactRuns = %v, want ErrInvalid", q, err)
		}
	}
	stop := errors.New("no")
	q := store.RunQuery{ReferenceID: "Asha"}
	_, err := k.Engine.RedactRuns(t.Context(), enginetest.Tenant, q, eraser, func(found []rules.Summary, left []engine.RunRedaction) error {
		if len(found) != 3 || found[0].ID != live {
			t.Errorf("found %d runs, want 3, the newest first", len(found))
		}
		if len(left) != 1 || left[0].Run != live || !errors.Is(left[0].Err, rules.ErrLive) {
			t.Errorf("the runs that are left are %+v, want the one that is live", left)
		}
		return stop
	})
	if !errors.Is(err, stop) || !k.Run(ended[0]).RedactedAt.IsZero() {
		t.Errorf("without a confirmation: %v, redacted at %v", err, k.Run(ended[0]).RedactedAt)
	}
	done, err := k.Engine.RedactRuns(t.Context(), enginetest.Tenant, q, eraser, nil)
	if err != nil || len(done) != 3 || done[0].Run != live || !errors.Is(done[0].Err, verification.ErrConflict) || done[1] != (engine.RunRedaction{Run: ended[0]}) || done[2] != (engine.RunRedaction{Run: ended[1]}) {
		t.Errorf("RedactRuns = %+v, %v", done, err)
	}
	k.Settle()
	done, err = k.Engine.RedactRuns(t.Context(), enginetest.Tenant, store.RunQuery{Keys: k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("ravi"))}, eraser, nil)
	if err != nil || len(done) != 1 || done[0] != (engine.RunRedaction{Run: other}) {
		t.Errorf("by the words of a person: %+v, %v", done, err)
	}
}
