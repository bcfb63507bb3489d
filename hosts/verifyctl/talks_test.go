// Transcripts of every command, the same in memory, on PostgreSQL and on a data folder.

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	records    verification.WorkflowID = "0191f3c0-0000-7000-8000-000000000001"
	onboarding verification.WorkflowID = "0191f3c0-0000-7000-8000-000000000002"
)

func TestTheCommandsPrintTheSameOnEveryStore(t *testing.T) {
	for _, store := range []struct {
		name string
		open func(*testing.T) *world
	}{{"memory", onMemory}, {"postgres", onPostgres}, {"folder", onFolder}} {
		t.Run(store.name, func(t *testing.T) {
			w := store.open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			for _, talk := range []struct {
				name string
				hold func(*world)
			}{
				{"apply", talkOfApply},
				{"accounts", talkOfAccounts},
				{"workflows", talkOfWorkflows},
				{"runs", talkOfRuns},
				{"deliveries", talkOfDeliveries},
				{"webhooks", talkOfWebhooks},
				{"tenants", talkOfTenants},
				{"redact", talkOfRedaction},
				{"restrict", talkOfRestriction},
				{"tokens", talkOfTokens},
			} {
				talk.hold(w)
				golden.Equal(t, "testdata/talks/"+talk.name+".txt", w.transcript())
			}
			w.refusesRotated()
		})
	}
}

func talkOfApply(w *world) {
	w.ctl("tenant list")
	w.ctl("account list")
	w.ctl("apply testdata/invalid.yaml")
	w.ctl("apply testdata/bootstrap.yaml --dry-run")
	w.ctl("account list")
	w.ctl("apply testdata/bootstrap.yaml")
	w.ctl("apply testdata/bootstrap.yaml --json")
	w.ctl("apply testdata/bootstrap.yaml --providers http,offline")
	w.ctl("apply testdata/none.yaml")
	w.env["ACME_API_KEY"] = ""
	w.ctl("apply testdata/bootstrap.yaml")
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("tenant list")
	w.ctl("tenant list --json")
	w.ctl("account list") // of the only tenant
	w.ctl("apply testdata/fewer.yaml --dry-run")
	w.ctl("account list")
	w.ctl("apply testdata/fewer.yaml")
	w.ctl("account list")
	w.ctl("apply testdata/bootstrap.yaml")
	w.ctl("account enable acme-new") // an operator's account from now on
	w.ctl("apply testdata/bootstrap.yaml")
	w.ctl("account list")
}

func TestApplyPrintsTheWarningsOfAWorkflow(t *testing.T) {
	w := onMemory(t)
	w.ctl("apply testdata/bootstrap-doubts.yaml --dry-run")
	w.ctl("apply testdata/bootstrap-doubts.yaml")
	w.ctl("apply testdata/bootstrap-doubts.yaml --json") // unchanged: warned of again
	golden.Equal(t, "testdata/talks/apply-doubts.txt", w.transcript())
}

func talkOfAccounts(w *world) {
	key := strings.TrimSuffix(w.ctl("account create acme-reader --tenant TENANT --surfaces runs,workflows"), "\n")
	w.authenticates("acme-reader", key)
	w.ctl("account create acme-reader --tenant TENANT")
	w.ctlWith("one-more-key-for-local-use\n", "account create acme-given --tenant TENANT --api-key-file -")
	w.authenticates("acme-given", "one-more-key-for-local-use")
	w.ctlWith("too short\n", "account create acme-short --tenant TENANT --api-key-file -")
	w.ctl("account create bank --tenant 00000000-0000-7000-8000-0000000000bb")
	w.ctl("account create bank --tenant 00000000-0000-7000-8000-0000000000bb --tenant-name Bank --json")
	w.ctl("account create long --tenant 00000000-0000-7000-8000-0000000000cc --tenant-name " + strings.Repeat("x", 201))
	w.ctl("account create bank-two --tenant 00000000-0000-7000-8000-0000000000bb --tenant-name Bench")
	w.ctl("account create acme-two --tenant acme")
	w.ctl("account create bench --tenant Bench --tenant-name Bench")
	w.ctl("account create acme-two --tenant TENANT --api-key")
	w.ctl("account create acme-two --tenant TENANT --surfaces all")
	w.ctl("account create Ä --tenant TENANT")
	w.ctl("account disable acme-reader")
	w.ctl("account disable acme-reader --json")
	w.ctl("account list --tenant TENANT")
	w.ctl("account enable acme-reader")
	overlapping := strings.TrimSuffix(w.ctl("account rotate-key acme-reader --keep-old 24h"), "\n")
	w.authenticates("acme-reader", overlapping)
	w.authenticates("acme-reader", key)
	w.ctl("account list --tenant TENANT --json")
	w.ctl("account rotate-key acme-reader --keep-old 2161h")
	rotated := strings.TrimSuffix(w.ctl("account rotate-key acme-reader"), "\n")
	w.authenticates("acme-reader", rotated)
	w.rotated = key
	w.ctl("account rotate-key acme-given --json")
	w.ctl("account rotate-key nobody")
	w.ctl("account disable nobody")
	w.ctl("account list --tenant TENANT --json")
	w.ctl("account list --tenant 00000000-0000-7000-8000-0000000000cc")
}

// refusesRotated fails the test unless the key before the rotation is refused. The time must
// be a second later: a host may use an account for as long as that.
func (w *world) refusesRotated() {
	w.t.Helper()
	if _, err := w.kit.Engine.Authenticate(w.t.Context(), "acme-reader", w.rotated); !errors.Is(err, verification.ErrUnauthenticated) {
		w.t.Errorf("the key before the rotation: %v, want it refused", err)
	}
}

// authenticates fails the test unless a key is that of its account.
func (w *world) authenticates(clientID, key string) {
	w.t.Helper()
	if _, err := w.kit.Engine.Authenticate(w.t.Context(), clientID, key); err != nil {
		w.t.Errorf("the key of %s does not open it: %v", clientID, err)
	}
}

func TestAnAPIKeyIsReadFromAFile(t *testing.T) {
	w := onMemory(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("a-key-that-is-in-a-file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ctl("account rotate-key acme --api-key-file " + file)
	w.authenticates("acme", "a-key-that-is-in-a-file")
}

func talkOfWorkflows(w *world) {
	w.ctl("workflow list --tenant TENANT")
	var page struct {
		Data []struct {
			ID          verification.WorkflowID
			VersionHash string `json:"version_hash"`
		}
	}
	w.decode(w.ctl("workflow list --tenant TENANT --json"), &page)
	first := ""
	for _, found := range page.Data {
		if found.ID == records {
			first = found.VersionHash
		}
	}
	w.reword(map[string]string{"name: Business records": "name: Records of a business"})
	w.ctl("workflow list --tenant TENANT --limit 1")
	w.ctl("workflow publish --tenant TENANT " + string(records) + " " + first)
	w.ctl("workflow publish --tenant TENANT " + string(records) + " " + first + " --json")
	w.ctl("workflow publish --tenant TENANT records " + first[:6])
	w.ctl("workflow publish --tenant TENANT records " + strings.ToUpper(first[:20]))
	w.ctl("workflow publish --tenant TENANT records " + first[:5])
	w.ctl("workflow publish --tenant TENANT " + string(records) + " 000000")
	w.ctl("workflow publish --tenant TENANT 0191f3c0-0000-7000-8000-000000000009 000000")
	w.ctl("workflow publish --tenant TENANT record 000000")
	w.ctl("workflow versions --tenant TENANT records")
	w.ctl("workflow versions --tenant TENANT records --json --limit 1")
	w.ctl("workflow versions --tenant TENANT records " + first[:6])
	w.ctl("workflow versions --tenant TENANT records --json " + first[:6])
	w.ctl("workflow versions --tenant TENANT " + string(onboarding))
	w.ctl("workflow versions --tenant TENANT nothing")
	w.ctl("workflow versions --tenant TENANT records 000000")
	w.ctl("workflow retire --tenant TENANT records")
	w.ctl("workflow retire --tenant TENANT records --json")
	w.ctl("workflow list --tenant TENANT")
	w.ctl("workflow unretire --tenant TENANT records")
	w.ctl("workflow retire --tenant TENANT nothing")
	w.ctl("workflow list --tenant TENANT --limit 0")
	w.ctl("workflow list --tenant TENANT --offset=-1")
}

// reword applies the bootstrap file with another text in its workflow.
func (w *world) reword(words map[string]string) {
	w.t.Helper()
	dir := w.t.TempDir()
	for _, name := range []string{"bootstrap.yaml", "records.yaml"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			w.t.Fatal(err)
		}
		text := string(raw)
		for from, to := range words {
			text = strings.ReplaceAll(text, from, to)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	said := w.said.String()
	w.ctl("apply " + filepath.Join(dir, "bootstrap.yaml"))
	w.said.Reset()
	w.said.WriteString(said) // the folder has another name each time
}

func (w *world) decode(text string, into any) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.t.Fatalf("decode %s: %v", text, err)
	}
}

func (w *world) start(id verification.WorkflowID, reference string) rules.RunDetail {
	w.t.Helper()
	return w.kit.Start(id, engine.StartRequest{ReferenceID: reference})
}

func talkOfRuns(w *world) {
	w.ctl("run list --tenant TENANT")
	w.kit.Provider.On("gst_registration", enginetest.Fail(map[string]any{"found": false}))
	failed := w.start(records, "firm-1").ID
	w.kit.Provider.On("gst_registration", enginetest.Pass(nil))
	w.kit.Provider.On("pan_verification", enginetest.Flake(), enginetest.Pend("handle-that-is-a-secret", time.Minute),
		enginetest.Pass(map[string]any{"name_match": 0.9}))
	parked := w.start(onboarding, "person-1").ID
	w.ctl("run show --tenant TENANT " + string(parked))
	w.kit.Submit(parked, "consent_submitted", map[string]any{"consent_status": "success"})
	w.kit.Advance(2 * time.Minute)
	w.ctl("run list --tenant TENANT")
	w.ctl("run list --tenant TENANT --decision review --json")
	decided := w.start(onboarding, "person-2").ID
	w.kit.Submit(decided, "consent_submitted", map[string]any{"consent_status": "declined"})
	if _, err := w.kit.Engine.GiveVerdict(w.t.Context(), tenant, decided, rules.GiveVerdict{
		Decision: rules.DecisionReject, Notes: "Asked twice.\nNo\u001b[2J consent.", By: "asha",
	}, ""); err != nil {
		w.t.Fatal(err)
	}
	w.ctl("run show --tenant TENANT " + string(decided))
	w.ctl("run show --tenant acme " + string(decided))
	w.ctl("run show --tenant TENANT --json " + string(decided))
	w.kit.Advance(10 * time.Minute)
	w.ctl("run list --tenant TENANT --status expired --workflow " + string(onboarding))
	w.ctl("run show --tenant TENANT --events " + string(parked))
	w.ctl("run show --tenant TENANT --events --json " + string(parked))
	w.ctl("run show --events " + string(failed))
	w.ctl("run show 00000000-0000-7000-8000-00000000ffff")
	w.ctl("run list --tenant TENANT --limit 1 --offset 1")
	w.ctl("run list --tenant 00000000-0000-7000-8000-0000000000bb --json")
	w.ctl("run show --tenant 00000000-0000-7000-8000-0000000000bb " + string(failed))
	w.ctl("run list --tenant TENANT --status done")
	w.ctl("run list --tenant TENANT --decision maybe")
	w.ctl("run list --tenant TENANT --reference-id person-2")
	w.ctl("run list --tenant TENANT --reference-id person")
	w.ctl("run list --tenant TENANT --started-after 2026-01-05T09:00:00Z")
	w.ctl("run list --tenant TENANT --started-before 2026-01-05T14:30:00.5+05:30 --reference-id person-1")
	w.ctl("run list --tenant TENANT --started-after 2026-01-05")
	w.ctl("run list --tenant TENANT --reference-id " + strings.Repeat("x", 256))
	w.ctl("run list --tenant TENANT --workflow records")
	w.ctl("run list --tenant TENANT --workflow nothing")
	w.ctl("run show --tenant TENANT")
}

func talkOfDeliveries(w *world) {
	w.ctl("webhook list --tenant TENANT")
	w.kit.Notices.FailWith(&verification.RetryError{Cause: errors.New("gone")})
	refused := w.start(records, "firm-2").ID
	w.kit.Notices.FailWith(errors.New("not now"))
	w.start(records, "firm-3")
	w.kit.Settle()
	w.ctl("webhook list --tenant TENANT")
	w.ctl("webhook list --tenant TENANT --state failed --json")
	before := len(w.kit.Notices.All())
	w.ctl("webhook redeliver --tenant TENANT --all-failed")
	w.kit.Advance(2 * time.Second)
	if n := len(w.kit.Notices.All()); n != before+1 || w.kit.Notices.All()[before].Run.ID != refused {
		w.t.Errorf("%d notices were sent after the command, want that of run %s", n-before, refused)
	}
	w.ctl("webhook list --tenant TENANT --state delivered")
	other := w.start(onboarding, "person-3").ID
	w.ctl("webhook redeliver --tenant TENANT " + string(refused) + " " + string(other) + " 00000000-0000-7000-8000-00000000ffff")
	w.ctl("webhook redeliver --tenant TENANT --json " + string(other))
	w.ctl("webhook redeliver --tenant TENANT --all-failed")
	w.ctl("webhook redeliver --tenant TENANT")
	w.ctl("webhook redeliver --tenant TENANT --all-failed " + string(refused))
	w.ctl("webhook list --tenant TENANT --state lost")
}

func talkOfWebhooks(w *world) {
	w.ctl("webhook secret --tenant TENANT")
	w.ctl("webhook secret --tenant TENANT --end-rotation")
	w.ctl("webhook secret --tenant TENANT --rotate")
	w.ctl("webhook secret --tenant TENANT --json")
	w.ctl("webhook secret --tenant TENANT --rotate")
	w.ctl("webhook secret --tenant TENANT --end-rotation")
	w.ctl("webhook secret --tenant TENANT --json")
	w.ctl("webhook secret --tenant TENANT --rotate --end-rotation")
	w.ctl("webhook secret --tenant 00000000-0000-7000-8000-0000000000cc")
	w.ctl("webhook clear --tenant TENANT " + string(records))
	w.ctl("webhook clear --tenant TENANT " + string(records))
	w.ctl("webhook clear --tenant TENANT --json 0191f3c0-0000-7000-8000-000000000009")
}

// talkOfTenants selects tenants by id and by name, once there are two.
func talkOfTenants(w *world) {
	w.ctl("account list")
	w.ctl("account list --tenant Bank")
	w.ctl("account list --tenant bank")
	w.env["VERIFYD_TENANT"] = "Bank"
	w.ctl("account list")
	w.ctl("account list --tenant Acme")
	w.env["VERIFYD_TENANT"] = ""
	w.ctl("account create second --tenant 00000000-0000-7000-8000-0000000000dd --tenant-name Bank")
	w.ctl("account list --tenant Bank")
	w.ctl("run show " + string(w.twoTenantsRun()))
	w.ctl("host list")
	w.ctl("host list --json")
}

func talkOfRedaction(w *world) {
	w.kit.Provider.On("pan_verification", enginetest.Pass(map[string]any{"name_match": 0.9}))
	id := w.start(onboarding, "person-4").ID
	w.ctl("run redact --tenant TENANT " + string(id))
	w.kit.Submit(id, "consent_submitted", map[string]any{"consent_status": "declined"})
	w.ctl("run redact --tenant TENANT " + string(id))
	if _, err := w.kit.Engine.GiveVerdict(w.t.Context(), tenant, id, rules.GiveVerdict{
		Decision: rules.DecisionApprove, Notes: "Asha called.", By: "asha",
	}, ""); err != nil {
		w.t.Fatal(err)
	}
	w.kit.Settle()
	w.ctl("run correct " + string(id) + " --node pan --field name --value Asha")
	w.ctl("run correct " + string(id) + " --node pan --field name_match --value=0.8")
	w.ctl("run hold " + string(id) + " --reason= ")
	w.ctl("run hold " + string(id) + " --reason dispute-17")
	w.ctl("run redact " + string(id))
	w.ctl("run release " + string(id))
	w.ctl("run release " + string(id))
	w.ctl("run redact " + string(id))
	w.ctl("run redact --json " + string(id))
	w.ctl("run correct " + string(id) + " --node pan --field name_match --value=0.8")
	w.ctl("run show --events " + string(id))
	w.ctl("run list --tenant TENANT --reference-id person-4")
	w.ctl("run list --tenant TENANT --reference-id redacted")
	if run := w.kit.Run(id); run.ReferenceID != rules.RedactedReference || run.Notes != "" {
		w.t.Errorf("a host reads %s and the notes %q of the redacted run", run.ReferenceID, run.Notes)
	}
	w.ctl("run redact 00000000-0000-7000-8000-00000000ffff")
	w.ctl("run redact --tenant TENANT 00000000-0000-7000-8000-00000000ffff")
}

// talkOfRestriction restricts a run, and lifts the restriction.
func talkOfRestriction(w *world) {
	w.kit.Provider.On("pan_verification", enginetest.Pass(map[string]any{"name_match": 0.9}))
	id := w.start(onboarding, "person-5").ID
	w.ctl("run restrict --reason contested " + string(id))
	w.kit.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	w.kit.Settle()
	w.ctl("run restrict --reason= " + string(id))
	for range 2 { // asked twice, it is one
		w.ctl("run restrict --reason contested " + string(id))
	}
	w.ctl("run show --events " + string(id))
	w.ctl("run list --tenant TENANT --reference-id person-5")
	w.ctl("run hold " + string(id) + " --reason dispute-17")
	if run := w.kit.Run(id); run.ReferenceID != rules.RedactedReference || run.RestrictedAt.IsZero() {
		w.t.Errorf("a host reads %s, restricted at %s", run.ReferenceID, run.RestrictedAt)
	}
	for range 2 {
		w.ctl("run unrestrict --reason settled " + string(id))
	}
	w.ctl("run list --tenant TENANT --reference-id person-5")
	if run := w.kit.Run(id); run.ReferenceID != "person-5" || !run.RestrictedAt.IsZero() {
		w.t.Errorf("afterwards a host reads %s, restricted at %s", run.ReferenceID, run.RestrictedAt)
	}
}

// twoTenantsRun returns the id of a run of Acme and of Bank.
func (w *world) twoTenantsRun() verification.RunID {
	w.t.Helper()
	id := w.start(records, "firm-4").ID
	db := w.database()
	defer func() { _ = db.close() }()
	history, err := db.Load(w.t.Context(), tenant, id, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := db.Append(w.t.Context(), "00000000-0000-7000-8000-0000000000bb", id, 0, store.Commit{Events: history, Summary: rules.Fold(id, history).Summary()}); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func talkOfTokens(w *world) {
	w.ctl("reviewer sign-out asha --tenant TENANT")
	w.ctl("reviewer sign-out asha --tenant TENANT --json")
	db := w.database()
	defer func() { _ = db.close() }()
	if outs, err := db.SignOuts(w.t.Context()); err != nil || len(outs) == 0 || outs[len(outs)-1].Identity != "asha" || outs[0].Tenant != tenant {
		w.t.Errorf("signed out: %+v, %v, want asha", outs, err)
	}
	issued := strings.TrimSuffix(w.ctl("token issue --tenant TENANT --reviewer asha"), "\n")
	if b, err := reviewer.NewIssuer(w.signingKeys()).Verify(issued, w.clock.Now()); err != nil || b.Tenant != tenant || b.Name != "asha" {
		w.t.Errorf("token = %+v, %v; want one of asha, signed with the keys of the database", b, err)
	}
	w.ctl("token issue --tenant TENANT --reviewer asha --ttl 1h --json")
	link := strings.TrimSuffix(w.ctl("token issue --tenant TENANT --reviewer asha --role admin --console --public-url https://verify.example/ --ttl 1h"), "\n")
	raw := strings.TrimPrefix(link, "https://verify.example/console/sign-in/link/")
	if l, err := reviewer.NewIssuer(w.signingKeys()).OpenSignInLink(raw, w.clock.Now()); err != nil || l.Role != verification.RoleAdmin || l.Session != time.Hour {
		w.t.Errorf("link = %+v, %v; want one of an administrator for an hour", l, err)
	}
	w.ctl("token issue --tenant TENANT --reviewer asha --console --json")
	w.ctl("token issue --tenant TENANT --reviewer asha --console --public-url verify.example")
	w.ctl("token issue --tenant TENANT --reviewer asha --role owner")
	w.ctl("token issue --tenant 00000000-0000-7000-8000-0000000000cc --reviewer asha")
	w.ctl("token issue --tenant Acme --reviewer asha")
	clear(w.env)
	w.ctl("token issue --tenant TENANT --reviewer asha")
	w.ctl("run list --tenant TENANT")
}

// signingKeys are those that the database has by now.
func (w *world) signingKeys() *token.Keys {
	w.t.Helper()
	db := w.database()
	defer func() { _ = db.close() }()
	set, err := db.SigningKeys(w.t.Context(), func() ([]byte, error) { return nil, errors.New("there are none") })
	if err != nil {
		w.t.Fatal(err)
	}
	keys, err := token.ReadKeys(set)
	if err != nil {
		w.t.Fatal(err)
	}
	return keys
}
