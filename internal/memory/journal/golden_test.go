package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// TestGoldenJournalsAreReadForEver opens journals that earlier builds wrote, and compares
// every read with a store in memory that was given the same calls. A golden journal is never
// written again: a new version of a record gets a new one, with calls of its own.
func TestGoldenJournalsAreReadForEver(t *testing.T) {
	var kinds []string
	for name, recorded := range map[string]struct {
		calls func(context.Context, store.Store) error
		write func(context.Context, *journal.Store) error // nil makes the calls
	}{
		"v2":          {calls: callsOfV2},
		"v2-snapshot": {calls: callsOfV2},
		"v2-copy":     {calls: callsOfV2, write: copyOfV2},

		"v2-retention":          {calls: callsOfRetention},
		"v2-retention-snapshot": {calls: callsOfRetention},

		"v2-audit":          {calls: callsOfAudit},
		"v2-audit-snapshot": {calls: callsOfAudit},

		"v2-setup": {calls: callsOfSetup},

		"v2-audit-blocks-snapshot": {calls: callsOfBlocks},

		"v2-ledger":          {calls: callsOfLedger},
		"v2-ledger-snapshot": {calls: callsOfLedger},

		"v2-rows":          {calls: callsOfRetention},
		"v2-rows-snapshot": {calls: callsOfRows},

		"v2-parts-snapshot": {calls: callsOfV2, write: func(ctx context.Context, s *journal.Store) error {
			s.CutParts(100)
			return callsOfV2(ctx, s)
		}},
	} {
		stored := filepath.Join("testdata", name)
		if _, err := os.Stat(stored); errors.Is(err, fs.ErrNotExist) && os.Getenv(golden.Env) == "1" {
			write := recorded.write
			if write == nil {
				write = func(ctx context.Context, s *journal.Store) error { return recorded.calls(ctx, s) }
			}
			writeGolden(t, stored, write)
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(stored)); err != nil {
			t.Fatal(err)
		}
		s := openIn(t, dir, journal.Options{})
		m, n := memstore.New(), storereads.NewNames()
		if err := recorded.calls(t.Context(), storereads.Noted{Store: m, Names: n}); err != nil {
			t.Fatal(err)
		}
		if compared := sameReads(t, n, m, s); compared < 40 {
			t.Errorf("%s: %d reads were compared, want all", name, compared)
		}
		if diff := cmp.Diff(ledgerOf(t, m.Tables), ledgerOf(t, s.Tables)); diff != "" {
			t.Errorf("%s: what the store knows of the ledger (-want +got):\n%s", name, diff)
		}
		files, err := os.ReadDir(stored)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(filepath.Join(stored, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range journal.Frames(raw) {
				kinds = append(kinds, f.Kind)
			}
		}
	}
	for _, kind := range journal.Kinds() {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no golden journal has a record of the kind %q", kind)
		}
	}
}

// TestTheFieldsOfEveryRecordAreRecorded writes the file that internal/releases compares with each release.
func TestTheFieldsOfEveryRecordAreRecorded(t *testing.T) {
	kinds, version := journal.RecordTypes()
	lines := []string{fmt.Sprintf("level of the store since %d", store.Level), fmt.Sprintf("version of records: %d", version)}
	for _, kind := range kinds {
		lines = append(lines, golden.Fields(fmt.Sprintf("record %d", kind.Number), kind.Name, kind.Since, kind.Type)...)
	}
	for _, kind := range append(store.RecordKinds(), store.RecordCopy) {
		if _, err := store.DecodeRow(kind, func(row any) error {
			lines = append(lines, golden.Fields("row "+strings.ReplaceAll(string(kind), " ", "_"), "", 1, reflect.TypeOf(row))...)
			return nil
		}); err != nil && store.IsRow(kind) {
			t.Error(err)
		}
	}
	golden.Equal(t, "testdata/records.txt", []byte(strings.Join(lines, "\n")+"\n"))
}

// callsOfBlocks makes the calls of the golden journal v2-audit-blocks-snapshot. They never change.
func callsOfBlocks(ctx context.Context, s store.Store) error {
	var entries []store.AuditEntry
	for n := range 150 {
		at := start().Add(time.Duration(n) * time.Second)
		entries = append(entries, store.AuditEntry{
			Tenant: tenant, ID: store.AuditID(at, "1"), At: at, Actor: verification.Actor{Kind: verification.ActorReviewer, ID: "asha@example.com", Name: "Asha"},
			Action: store.AuditRunRead, Run: runID(1),
		})
	}
	return errors.Join(callsOfV2(ctx, s), s.AppendAudit(ctx, entries))
}

// ledgerOf returns the mark of the ledger of erasures, and what the ledger is owed.
func ledgerOf(t *testing.T, s store.Tables) []any {
	t.Helper()
	mark, failed := s.LedgerMark(t.Context())
	owed, err := s.OwedErasures(t.Context(), 100)
	if err = errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
	return []any{mark, owed}
}

// callsOfLedger makes the calls of the golden journal v2-ledger. They never change.
func callsOfLedger(ctx context.Context, s store.Store) error {
	const ledger = "e0000000-0000-7000-8000-000000000001"
	owed := func(n int) *verification.Erasure {
		return &verification.Erasure{Tenant: tenant, Run: runID(n), Kind: verification.ErasureHeld, At: start(), StartedAt: start()}
	}
	opened := verification.Erasure{Ledger: ledger, Number: 3, Through: 4, Kind: verification.ErasureOpened, At: start(), StartedAt: start()}
	failed := []error{
		callsOfV2(ctx, s),
		store.Tables{RowStore: s}.SaveLedgerMark(ctx, store.LedgerMark{}, store.LedgerMark{ID: ledger, Last: 4, Applied: 4}, []verification.Erasure{opened}),
		store.Tables{RowStore: s}.SaveRetentionMark(ctx, store.RetentionMark{
			Tenant: tenant, Workflow: theWorkflow, Policy: verification.Retention{RedactAfterDays: 30, From: verification.RetentionFromStart},
			Keyed: store.StartedPosition{StartedAt: start(), Run: runID(1)}, KeyForm: 2, KeysDone: true,
			Counted: []store.CountedPolicy{{Policy: verification.Retention{KeepDays: 1}, Since: start()}},
		}),
	}
	for n := 10; n < 13; n++ {
		begun := []rules.Event{{At: start(), Fact: rules.Started{Workflow: theWorkflow, Version: 1, VersionHash: "first", ReferenceID: "owed"}}}
		c := store.NewCommit(rules.Run{}, rules.Fold(runID(n), begun), begun, time.UTC)
		c.Erasure = owed(n)
		failed = append(failed, s.Append(ctx, tenant, runID(n), 0, c))
	}
	return errors.Join(append(failed, store.Tables{RowStore: s}.ErasuresNoted(ctx, []int64{3, 6}))...)
}

func writeGolden(t *testing.T, dir string, write func(context.Context, *journal.Store) error) {
	t.Helper()
	s := openIn(t, dir, journal.Options{})
	if err := write(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(dir, "-snapshot") {
		if err := s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	if err := errors.Join(os.Remove(filepath.Join(dir, "lock")), os.RemoveAll(filepath.Join(dir, journal.SpareFile))); err != nil {
		t.Fatal(err)
	}
}

// copyOfV2 saves the records of a store with the calls of v2.
func copyOfV2(ctx context.Context, s *journal.Store) error {
	m := memstore.New()
	failed := []error{callsOfV2(ctx, m), s.SetUnfinishedCopy(ctx, "/var/lib/verifyd")}
	for _, kind := range store.RecordKinds() {
		for r, err := range m.Records(ctx, kind) {
			failed = append(failed, err, s.SaveRecords(ctx, []store.Record{r}))
		}
	}
	return errors.Join(append(failed, s.SetUnfinishedCopy(ctx, ""))...)
}

// callsOfAudit makes the calls of the golden journal v2-audit. They never change.
func callsOfAudit(ctx context.Context, s store.Store) error {
	at := start()
	entry := func(n int) store.AuditEntry {
		return store.AuditEntry{
			Tenant: tenant, ID: store.AuditID(at, string(runID(n))), At: at, Run: runID(n), Action: store.AuditVerdictGiven,
			Actor:    verification.Actor{Kind: verification.ActorReviewer, ID: "asha@example.com", Name: "Zoë <Asha>"},
			Document: "front", Subject: "a subject", Detail: "approve", Count: n,
		}
	}
	failed := []error{callsOfV2(ctx, s), s.AppendAudit(ctx, []store.AuditEntry{entry(0), entry(1)}), s.AppendAudit(ctx, []store.AuditEntry{entry(1)})}
	note := []rules.Event{{At: at, Fact: rules.Started{Workflow: theWorkflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "audited"}}}
	c := store.NewCommit(rules.Run{}, rules.Fold(runID(9), note), note, time.UTC)
	c.Audit = []store.AuditEntry{entry(2)}
	return errors.Join(append(failed, s.Append(ctx, tenant, runID(9), 0, c))...)
}

// callsOfSetup makes the calls of the golden journal v2-setup. They never change.
func callsOfSetup(ctx context.Context, s store.Store) error {
	return errors.Join(callsOfV2(ctx, s), s.SaveSetup(ctx, theSetup()))
}

func theSetup() store.Setup {
	w := workflow.Workflow{ID: otherWorkflow, Slug: "onboarding", Name: "Zoë <Onboarding>", LatestHash: "first", Versions: 1, CreatedAt: start(), Revision: 1}
	v := workflow.Version{Number: 1, Hash: "first", CreatedAt: start(), Definition: workflow.Definition{Workflow: "onboarding", ID: otherWorkflow, Name: w.Name}}
	return store.Setup{
		Tenants: []verification.Tenant{{
			ID: setupTenant, Name: "Zoë & Söhne", Retention: verification.Retention{RedactAfterDays: 30}, Logo: verification.NewLogo("image/png", []byte{0x89, 'P', 'N', 'G', 0, 255}),
		}},
		Accounts: []verification.Account{{
			ClientID: "set-up", Tenant: setupTenant, KeyHash: verification.HashAPIKey("a-key-for-local-use-only"),
			Surfaces: []verification.Surface{verification.SurfaceRuns}, FromFile: true,
		}},
		Workflows: []store.WorkflowChange{{Tenant: setupTenant, Workflow: w, Added: &v}},
		Audit: []store.AuditEntry{{
			Tenant: setupTenant, ID: store.AuditID(start(), "setup"), At: start(), Actor: verification.Actor{Kind: verification.ActorSystem, Name: "bootstrap file"},
			Action: store.AuditTenantSaved, Subject: "Zoë & Söhne", Detail: "created",
		}},
	}
}

const (
	setupTenant   verification.TenantID   = "a0000000-0000-7000-8000-00000000005e"
	otherWorkflow verification.WorkflowID = "c0000000-0000-7000-8000-00000000005e"
)

// callsOfV2 makes the calls of the golden journal v2. They never change.
func callsOfV2(ctx context.Context, s store.Store) error {
	const advance, announce, list = store.WorkAdvance, store.WorkAnnounce, "sanctions"
	now := start()
	var failed []error
	ok := func(err error) { failed = append(failed, err) }
	ok(store.Tables{RowStore: s}.SaveTenant(ctx, verification.Tenant{
		ID: tenant, Name: "Zoë & Söhne <Bank>", Zone: "Asia/Kolkata", RedirectAllowlist: []string{"https://app.example/done"},
		WebhookSecret: "whsec_a", PreviousWebhookSecret: "whsec_b", Colour: "#102030",
		Logo:  verification.NewLogo("image/png", []byte{0x89, 'P', 'N', 'G', 0, 255}),
		Links: verification.PageLinks{Privacy: "https://a.example/p", Help: "https://a.example/h", Legal: "https://a.example/l", Phone: "+91 98765 43210"},
	}))
	ok(store.Tables{RowStore: s}.SaveAccount(ctx, verification.Account{
		ClientID: "client", Tenant: tenant, KeyHash: verification.HashAPIKey("a key of the golden journal"), Disabled: true, FromFile: true,
		Surfaces: []verification.Surface{verification.SurfaceRuns, verification.SurfaceSignals},
	}))
	least, publish := 1.5, false
	ok(s.SaveWorkflow(ctx, tenant, workflow.Workflow{
		ID: theWorkflow, Slug: "onboarding", Name: "Onboarding", Description: "Verifies a person", RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900,
		PublishedHash: "first", LatestHash: "first", Versions: 1, LifecycleWebhookURL: "https://a.example/hook", Retired: true, CreatedAt: now, Revision: 1,
	}, &workflow.Version{Number: 1, Hash: "first", CreatedAt: now, Definition: workflow.Definition{
		Workflow: "onboarding", ID: theWorkflow, Name: "Onboarding", Publish: &publish, Start: "details", InputSchema: verification.Data(`{"type":"object"}`),
		Subject: &workflow.SubjectFields{Name: "steps.details.data.name"}, Compare: []workflow.Comparison{{Fact: "Name", Of: []string{"input.name"}}},
		RejectReasons: []workflow.RejectReason{{Code: "wrong_name", Label: "The name differs", LabelIn: workflow.Translations{"en": "The name differs", "hi": "नाम अलग है"}}},
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Details", LabelIn: workflow.Translations{"en": "Details", "hi": "विवरण"}, Next: "pan",
				Fields: workflow.InputFields{
					{Name: "income", Type: "number", Label: "Income", Min: &least}, {Name: "birth", Type: "date", Label: "Birth", MaxDate: "-18y"},
				},
				Groups: []workflow.Screen{{Label: "All", Fields: []string{"income", "birth"}}},
			},
			"pan": {
				Type: workflow.NodeCheck, Label: "PAN", Provider: "sandbox", With: verification.Data(`{"id":"${input.id}","op":"\u003c"}`), Next: "done",
				Rescreen: &workflow.Rescreen{List: list, Every: workflow.RescreenOnChange}, OnFailed: "next",
			},
			"done": {Type: workflow.NodeEnd},
		},
	}}))

	history := func(facts ...rules.Fact) (events []rules.Event) {
		for i, f := range facts {
			events = append(events, rules.Event{At: now.Add(time.Duration(i) * time.Second), Fact: f})
		}
		return events
	}
	first := history(
		rules.Started{
			Workflow: theWorkflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "customer <1>",
			Input: verification.Data(`{"name":"Zo\u00eb","n":12345678901234567890}`), RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, ReviewDueMinutes: 60,
		},
		rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: 1, Rescreen: list},
		rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"ok":true}`), Screening: &rules.Screening{
			List: list, ListVersion: "1", Hits: []verification.Hit{{ID: "7", Name: "Zoe", Score: 0.75, Reasons: []string{"name"}}},
		}},
	)
	append1 := func(n, seq int, all []rules.Event, change func(*store.Commit)) {
		before := rules.Fold(runID(n), all[:seq])
		c := store.NewCommit(before, before.EvolveAll(all[seq:]), all[seq:], time.UTC)
		change(&c)
		ok(s.Append(ctx, tenant, runID(n), seq, c))
	}
	append1(1, 0, first, func(c *store.Commit) {
		c.Hold, c.WorkflowRevision, c.Keys = store.Leased, 1, []store.SearchKey{storereads.SearchKey(1), storereads.SearchKey(2)}
		c.Work[store.WorkKey{Kind: advance}] = now.Add(20 * time.Second)
	})
	asked := append(first, history(rules.ReviewAsked{Node: "review", Label: "Review", Reason: "A hit."})...)
	append1(1, len(first), asked, func(c *store.Commit) { c.Work[store.WorkKey{Kind: announce, Seq: 4}] = now })
	_, err := s.Claim(ctx, tenant, runID(1), rules.Claim{By: "asha@example.com", Name: "Asha", At: now, Until: now.Add(15 * time.Minute)})
	ok(err)
	append1(2, 0, first[:1], func(c *store.Commit) { c.Work[store.WorkKey{Kind: advance}] = now })
	note := append(first[:1:1], history(rules.NoteAdded{Notes: "Called back.", By: "Asha", Identity: "asha@example.com"})...)
	append1(2, 1, note, func(c *store.Commit) { // only events and measures
		c.Work, c.Measures = nil, []store.Measure{{MeasureKey: store.MeasureKey{Name: store.MeasureTransition, Key: "a:b", Version: 1}, Day: 20_000, Count: 2}}
	})
	append1(3, 0, append(first, history(rules.Completed{Node: "done", Outcome: "approved"})...), func(c *store.Commit) { c.Keys = []store.SearchKey{} })

	_, err = s.HoldPass(ctx, store.RescreenPass{List: list, Version: "2", Holder: "a", HeldUntil: now.Add(time.Minute)}, now)
	ok(err)
	take := func(kind store.WorkKind, list string) []store.Work {
		work, _, err := s.Take(ctx, store.TakeRequest{Kind: kind, List: list, Now: now.Add(time.Second), Lease: time.Minute, Max: 9, MaxPerTenant: 9})
		ok(err)
		return work
	}
	for _, w := range take(store.WorkRescreen, list) {
		ok(s.Postpone(ctx, w, now.Add(time.Hour)))
	}
	for _, w := range take(advance, "") {
		w.LeftAt = now
		ok(s.Release(ctx, []store.Work{w}, now.Add(time.Minute)))
	}
	for _, w := range take(announce, "") {
		ok(s.Finish(ctx, w))
	}
	take(store.WorkExpire, "")

	for i, k := range []string{"settled", "released", "open"} {
		r := store.IdempotencyRecord{IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeSignal, Key: k}, Fingerprint: "f", ID: string(runID(i)), At: now}
		_, err := store.Tables{RowStore: s}.ClaimIdempotencyKey(ctx, tenant, r)
		ok(err)
		r.Result, r.Decision = "accepted", rules.DecisionApprove
		switch k {
		case "settled":
			ok(store.Tables{RowStore: s}.SettleIdempotencyKey(ctx, tenant, r))
		case "released":
			ok(store.Tables{RowStore: s}.ReleaseIdempotencyKey(ctx, tenant, r))
		}
	}
	ok(store.Tables{RowStore: s}.SaveDelivery(ctx, tenant, rules.Delivery{
		Run: runID(1), Seq: 4, Event: "run.review_due_soon", URL: "https://a.example/hook", State: rules.DeliveryPending, Attempts: 2,
		FirstAt: now, LastAt: now.Add(time.Minute), NextAt: now.Add(time.Hour), Class: rules.ClassTimeout,
	}))
	return errors.Join(failed...)
}

// callsOfRows makes the calls of the golden journal v2-rows-snapshot. They never change.
func callsOfRows(ctx context.Context, s store.Store) error {
	return errors.Join(callsOfV2(ctx, s), store.Tables{RowStore: s}.SaveRetentionMark(ctx, store.RetentionMark{Tenant: tenant, Workflow: theWorkflow, KeyForm: 1}))
}

// callsOfRetention makes the calls of the golden journals v2-retention and v2-rows. They never change.
func callsOfRetention(ctx context.Context, s store.Store) error {
	failed := []error{callsOfV2(ctx, s)}
	history, err := s.Load(ctx, tenant, runID(3), 0)
	now := start()
	failed = append(failed, err,
		s.Append(ctx, tenant, runID(3), len(history), store.Commit{Summary: rules.Summary{Workflow: theWorkflow}, Delete: true}),
		store.Tables{RowStore: s}.SaveRetentionMark(ctx, store.RetentionMark{
			Tenant: tenant, Workflow: theWorkflow, Redacted: store.StartedPosition{StartedAt: now, Run: runID(2)},
			Documents: store.StartedPosition{StartedAt: now, Run: runID(1)}, Deleted: store.StartedPosition{StartedAt: now.Add(time.Hour)},
		}),
		store.Tables{RowStore: s}.SaveDelivery(ctx, tenant, rules.Delivery{Run: runID(2), State: rules.DeliveryDelivered, Attempts: 1, LastAt: now, Event: "run.completed"}))
	n, err := s.Forget(ctx, store.Ages{Deliveries: now.Add(time.Hour), Measures: now.AddDate(0, 0, 1), Keys: now.Add(time.Hour)}, 3)
	if n != 3 {
		failed = append(failed, errors.New("Forget has not removed 3 records"))
	}
	return errors.Join(append(failed, err)...)
}
