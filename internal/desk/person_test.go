// Tests of a person's file: what is in it, and above all what is not.

package desk_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// upload is the id of the document in the histories.
const upload = "00000000-0000-7000-8000-00000000d0c1"

// canaries returns a history in which every text says whose it is: a person's begins with
// "person-", a vendor's with "vendor-", one of a list or of screening with "list-", and a
// reviewer's with "reviewer-".
func canaries(w workflow.Workflow) []rules.Event {
	hit := func(name string) verification.Hit {
		return verification.Hit{
			ID: name + "-id", Name: name, Alias: name + "-alias", Reasons: []string{name + "-reason"}, BirthDates: []string{name + "-born"},
			Countries: []string{name + "-country"}, Topics: []string{name + "-topic"}, Digest: name + "-digest",
		}
	}
	cleared := func(name string) []rules.Clearance {
		return []rules.Clearance{{List: "sanctions", Hit: hit("list-" + name), By: "reviewer-" + name, Identity: "reviewer-" + name + "-id"}}
	}
	facts := []rules.Fact{
		rules.Started{
			Workflow: w.ID, WorkflowName: "Canaries", Version: 1, VersionHash: w.Current(), ReferenceID: "person-reference",
			Input: verification.Data(`{"name":"person-input"}`), RedirectURI: "https://app.example/person-redirect",
		},
		rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Label: "Consent", Signal: "consent"},
		rules.JourneyOpened{Node: "consent"},
		rules.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"success","said":"person-consent"}`), Language: "hi"},
		rules.CustomerAwaited{Node: "details", Type: workflow.NodeCustomerInput, Label: "Details", Signal: "details"},
		rules.DocumentUploaded{Node: "details", Document: upload, Field: "front", MediaType: "image/png", Size: 14, SHA256: "person-sha"},
		rules.CustomerSubmitted{Node: "details", Data: verification.Data(`{"city":"person-answer","front":{"document_id":"` + upload + `"}}`)},
		rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "vendor-name", Dispatch: 1, Visit: 1},
		rules.DispatchFailed{Node: "pan", Cause: "vendor-failure"},
		rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "vendor-second", Dispatch: 2, Visit: 1},
		rules.ResultPending{Node: "pan", Handle: "vendor-handle"},
		rules.PollFailed{Node: "pan", Cause: "vendor-poll"},
		rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"holder":"vendor-data"}`)},
		rules.Dispatched{Node: "list", Key: "sanctions_check", Label: "List", Provider: "script", Dispatch: 1, Visit: 1, Rescreen: "sanctions"},
		rules.DispatchFailed{Node: "list", Cause: "list-failure"},
		rules.Dispatched{Node: "list", Key: "sanctions_check", Label: "List", Provider: "script", Dispatch: 2, Visit: 1, Rescreen: "sanctions"},
		rules.ResultRecorded{
			Node: "list", Data: verification.Data(`{"list":"sanctions","source_ok":true,"analysis_ok":false,"hits":[{"name":"list-data"}]}`),
			Screening: &rules.Screening{
				List: "sanctions", ListVersion: "list-version", Hits: []verification.Hit{hit("list-hit")}, Asked: "list-asked", Cleared: cleared("cleared"),
			},
		},
		rules.ReviewAsked{Node: "review", Label: "list-review", Reason: "list-why"},
		rules.Assigned{To: rules.Assignee{Person: verification.Person{Name: "reviewer-assignee"}}, Notes: "reviewer-assigned", By: "reviewer-assigner"},
		rules.NoteAdded{Notes: "reviewer-note", By: "reviewer-noter", Identity: "reviewer-noter-id"},
		rules.Corrected{Node: "pan", Field: "holder", Correction: "person-correction", By: "reviewer-corrector", Identity: "reviewer-corrector-id"},
		rules.Corrected{Node: "list", Field: "hits[0].name", Correction: "list-correction", By: "reviewer-corrector", Identity: "reviewer-corrector-id"},
		rules.Held{Reason: "reviewer-hold", By: "reviewer-holder", Identity: "reviewer-holder-id"},
		rules.HoldEnded{By: "reviewer-ender", Identity: "reviewer-ender-id"},
		rules.VerdictProposed{Node: "review", Decision: rules.DecisionReject, Reason: "reviewer-proposed", Notes: "reviewer-proposal", By: "reviewer-proposer"},
		rules.ProposalReturned{Node: "review", Reason: "reviewer-returned", Notes: "reviewer-return", By: "reviewer-returner"},
		rules.VerdictRecorded{
			Node: "review", Decision: rules.DecisionReject, Reason: "reviewer-reason", Notes: "reviewer-verdict", By: "reviewer-name", Identity: "reviewer-id",
		},
		rules.Completed{Node: "done", Outcome: "list-outcome"},
		rules.HitsFound{Node: "list", List: "sanctions", ListVersion: "list-version-2", Hits: []verification.Hit{hit("list-later")}},
		rules.HitDecided{Node: "list", List: "sanctions", Entry: "list-entry", Match: rules.MatchSame, Reason: "reviewer-hit", By: "reviewer-decider"},
		rules.HitsCleared{Node: "list", Cleared: cleared("later-cleared")},
		rules.VerdictProposed{Decision: rules.DecisionReject, Reason: "reviewer-last-reason", Notes: "reviewer-last", By: "reviewer-last-name"},
	}
	history := make([]rules.Event, len(facts))
	for i, f := range facts {
		history[i] = rules.Event{At: enginetest.Began().Add(time.Duration(i) * time.Minute), Fact: f}
	}
	return history
}

// words returns the canaries of one kind in a text.
func words(text, kind string) (found []string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		if strings.HasPrefix(word, kind+"-") && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	slices.Sort(found)
	return found
}

// records is a kit with the workflow of the histories and its documents.
type records struct {
	*enginetest.Kit
	t         *testing.T
	workflow  workflow.Workflow
	documents verification.DocumentStore
	made      int
}

func newRecords(t *testing.T) *records {
	t.Helper()
	k := enginetest.New(t)
	d := workflow.Definition{
		Workflow: "canaries", Name: "Canaries", Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {
				Type: workflow.NodeConsent, Label: "Consent", Text: "We ask.", TextIn: workflow.Translations{"en": "We ask.", "hi": "सहमत"},
				OnDeclined: workflow.TargetNext, Next: "details",
			},
			"details": {
				Type: workflow.NodeCustomerInput, Next: "pan",
				Fields: workflow.InputFields{{Name: "city", Type: workflow.FieldText}, {Name: "front", Type: workflow.FieldImage}},
			},
			"pan":    {Type: workflow.NodeCheck, Provider: "script", Label: "PAN", Next: "list", With: verification.Data(`{"name":"${input.name}","place":{"country":"IN"}}`)},
			"list":   {Type: workflow.NodeCheck, Provider: "script", Key: "sanctions_check", Label: "List", Next: "review", OnFailed: workflow.TargetNext},
			"review": {Type: workflow.NodeReview, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
	return &records{Kit: k, t: t, workflow: k.Apply(d), documents: blob.Memory(0, 0)}
}

// keep stores a history as a run of its own, with its upload.
func (r *records) keep(history []rules.Event) verification.RunID {
	r.t.Helper()
	r.made++
	id := verification.RunID(fmt.Sprintf("00000000-0000-7000-8000-%012x", r.made))
	run := rules.Fold(id, history)
	if err := r.Store.Append(r.t.Context(), enginetest.Tenant, id, 0, store.NewCommit(rules.Run{ID: id}, run, history, time.UTC)); err != nil {
		r.t.Fatal(err)
	}
	if len(run.Documents) > 0 && run.RedactedAt.IsZero() {
		ref := verification.RunRef{Tenant: enginetest.Tenant, Run: id}
		if _, err := r.documents.SaveDocument(r.t.Context(), ref, run.Documents[0], strings.NewReader("person-content")); err != nil {
			r.t.Fatal(err)
		}
	}
	return id
}

// write returns the files of a person's file, by name.
func (r *records) write(q desk.PersonQuery) (desk.PersonFile, map[string]string, error) {
	r.t.Helper()
	q.RunJSON = func(d rules.RunDetail) any { return apitypes.NewRunDetail(d) }
	q.ReportJSON = func(r rules.Report) any { return apitypes.NewReport(r) }
	var raw bytes.Buffer
	made, err := deskOf(r.Kit).WritePersonFile(r.t.Context(), enginetest.Tenant, q, &raw)
	if err != nil {
		return made, nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(raw.Bytes()), int64(raw.Len()))
	if err != nil {
		r.t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			r.t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			r.t.Fatal(err)
		}
		files[f.Name] = string(text)
		if strings.HasSuffix(f.Name, ".json") && !json.Valid(text) {
			r.t.Errorf("%s is not JSON: %s", f.Name, text)
		}
	}
	return made, files, nil
}

// read is write without an error.
func (r *records) read(q desk.PersonQuery) map[string]string {
	r.t.Helper()
	q.Documents = r.documents
	_, files, err := r.write(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// all returns all files and their names as one text.
func all(files map[string]string) string {
	var b strings.Builder
	for name, text := range files {
		b.WriteString(name + "\n" + text + "\n")
	}
	return b.String()
}

// texts returns the history as one text.
func texts(t *testing.T, history []rules.Event) string {
	t.Helper()
	raw, err := rules.EncodeEvents(history)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAPersonsFileTipsNobodyOff(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	id := r.keep(history)
	files := r.read(desk.PersonQuery{ReferenceID: "person-reference", By: "asha"})
	text := all(files)
	for _, kind := range []string{"person", "vendor"} {
		want := words(texts(t, history), kind)
		if kind == "person" {
			want = append(want, "person-content")
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, words(text, kind)); diff != "" {
			t.Errorf("texts of the %s (-history +file):\n%s", kind, diff)
		}
	}
	for _, kind := range []string{"list", "reviewer"} {
		if found := words(text, kind); len(found) > 0 {
			t.Errorf("the file has %v", found)
		}
	}
	for _, hint := range []string{"match", "analysis_ok", "reject\"", "hits", "resolved_at\": \"", "sanctions_check"} {
		for name, text := range files {
			if name != "index.txt" && strings.Contains(text, hint) {
				t.Errorf("%s has %q:\n%s", name, hint, text)
			}
		}
	}
	folder := string(id) + "/"
	if got := files[folder+"data.json"]; !strings.Contains(got, "\"list\": \"sanctions\",\n      \"source_ok\": true\n") {
		t.Errorf("data.json does not say which list was asked:\n%s", got)
	}
	if got := files[folder+"consents.json"]; !strings.Contains(got, "सहमत") || !strings.Contains(got, `"language": "hi"`) || !strings.Contains(got, `"agreed": true`) {
		t.Errorf("consents.json is %s", got)
	}
	if got := files[folder+"documents/1-front.png"]; got != "person-content" {
		t.Errorf("the upload is %q", got)
	}
	for _, want := range []string{"by asha", "Test (tenant " + string(enginetest.Tenant), "T09:07:00Z  PAN (vendor-name): name, place.country\n", "Left out", "they are not found by a reference id", "The law may limit"} {
		if !strings.Contains(files["index.txt"], want) {
			t.Errorf("the index has no %q:\n%s", want, files["index.txt"])
		}
	}
}

func TestAnyTraceOfScreeningHidesWhatFollowsFromIt(t *testing.T) {
	r := newRecords(t)
	for name, change := range map[string]func(rules.Fact) rules.Fact{
		"without re-screening": func(f rules.Fact) rules.Fact {
			if d, ok := f.(rules.Dispatched); ok {
				d.Rescreen = ""
				return d
			}
			return f
		},
		"said by the call alone": func(f rules.Fact) rules.Fact {
			switch d := f.(type) {
			case rules.Dispatched:
				d.Rescreen, d.Screens = "", d.Rescreen != ""
				return d
			case rules.ResultRecorded:
				d.Screening = nil
				return d
			}
			return f
		},
		"without a list": func(f rules.Fact) rules.Fact {
			if d, ok := f.(rules.ResultRecorded); ok {
				d.Screening = nil
				return d
			}
			return f
		},
		"stopped": func(f rules.Fact) rules.Fact {
			if _, ok := f.(rules.Completed); ok {
				return rules.Failed{Node: "branch", Error: rules.RunError{Code: rules.CodeCheckFailed, Check: "sanctions_check", Message: "list-message"}, Cause: "list-cause"}
			}
			return f
		},
	} {
		history := canaries(r.workflow)
		for i := range history {
			history[i].Fact = change(history[i].Fact)
		}
		files := r.read(desk.PersonQuery{Run: r.keep(history)})
		if found := append(words(all(files), "list"), words(all(files), "reviewer")...); len(found) > 0 {
			t.Errorf("%s: the file has %v", name, found)
		}
	}
}

func TestAPersonsFileLooksTheSameWithoutHits(t *testing.T) {
	r := newRecords(t)
	clean := func(found bool) string {
		history := slices.DeleteFunc(canaries(r.workflow), func(e rules.Event) bool {
			f, ok := e.Fact.(rules.DispatchFailed) // it would flag the check whatever is found
			return ok && f.Node == "list"
		})
		at := slices.IndexFunc(history, func(e rules.Event) bool {
			f, ok := e.Fact.(rules.ResultRecorded)
			return ok && f.Node == "list"
		})
		history = append(history[:at:at], rules.Event{At: history[at].At, Fact: history[at].Fact}, history[at+1], history[at+10], history[at+11])
		if !found {
			history[at].Fact = rules.ResultRecorded{
				Node: "list", Passed: true, Data: verification.Data(`{"list":"sanctions","source_ok":true,"analysis_ok":true,"hits":[]}`),
				Screening: &rules.Screening{List: "sanctions", ListVersion: "v"},
			}
			history[at+2].Fact = rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove}
			history[at+3].Fact = rules.Completed{Node: "done", Outcome: "verified"}
		}
		id := r.keep(history)
		files := r.read(desk.PersonQuery{Run: id})
		text := ""
		for _, name := range []string{"run.json", "report.json", "data.json", "consents.json"} {
			text += strings.ReplaceAll(files[string(id)+"/"+name], string(id), "ID")
		}
		_, digest, _ := strings.Cut(text, `"digest": "`)
		return strings.ReplaceAll(text+strings.ReplaceAll(files["index.txt"], string(id), "ID"), digest[:64], "DIGEST")
	}
	if diff := cmp.Diff(clean(true), clean(false)); diff != "" {
		t.Errorf("the file says whether there are hits (-hits +none):\n%s", diff)
	}
}

func TestAPersonsFileHasScreeningForAReason(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	id := r.keep(history)
	files := r.read(desk.PersonQuery{Run: id, ScreeningReason: "order of a court"})
	text := all(files)
	for _, kind := range []string{"person", "vendor", "list", "reviewer"} {
		want := words(texts(t, history), kind)
		if kind == "person" {
			want = append(want, "person-content")
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, words(text, kind)); diff != "" {
			t.Errorf("texts of the %s (-history +file):\n%s", kind, diff)
		}
	}
	if !strings.Contains(files["index.txt"], "order of a court") {
		t.Errorf("the index has no reason:\n%s", files["index.txt"])
	}
}

func TestACheckOfAVendorScreensIfTheFileSaysSo(t *testing.T) {
	r := newRecords(t)
	id := r.keep(canaries(r.workflow))
	q := desk.PersonQuery{Run: id, ScreeningChecks: []string{"pan"}}
	if found, want := words(all(r.read(q)), "vendor"), []string{"vendor-name", "vendor-second"}; !slices.Equal(found, want) {
		t.Errorf("the file has %v, want only the names of the sources", found)
	}
	q.ScreeningChecks, q.Documents = []string{"pna"}, r.documents
	if _, _, err := r.write(q); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a key of no check: %v, want ErrInvalid", err)
	}
}

func TestARunWithoutScreeningKeepsItsDecision(t *testing.T) {
	r := newRecords(t)
	history := slices.DeleteFunc(canaries(r.workflow), func(e rules.Event) bool {
		raw := texts(t, []rules.Event{e})
		return strings.Contains(raw, `"list"`) || strings.Contains(raw, "list-outcome")
	})
	id := r.keep(append(history, rules.Event{At: enginetest.Began().Add(time.Hour), Fact: rules.Completed{Node: "done", Outcome: "declined"}}))
	files := r.read(desk.PersonQuery{Run: id})
	run := files[string(id)+"/run.json"]
	if !strings.Contains(run, `"decision": "reject"`) || !strings.Contains(run, `"outcome": "declined"`) || !strings.Contains(run, `"reviews"`) {
		t.Errorf("run.json is %s, want the decision, the outcome and the flags", run)
	}
	if found := words(all(files), "reviewer"); len(found) > 0 {
		t.Errorf("the file has %v", found)
	}
}

func TestARedactedRunSaysSo(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	history = append(history[:len(history)-4], rules.Event{At: enginetest.Began().Add(time.Hour), Fact: rules.NoteAdded{Notes: "reviewer-note"}})
	at := enginetest.Began().Add(2 * time.Hour)
	redacted, err := rules.Redact("00000000-0000-7000-8000-000000000001", history, "", verification.Person{Name: "reviewer-redactor"}, at)
	if err != nil {
		t.Fatal(err)
	}
	id := r.keep(redacted)
	files := r.read(desk.PersonQuery{Run: id})
	for _, name := range []string{"index.txt", string(id) + "/redacted.txt"} {
		if want := "was removed at 2026-01-05T11:00:00Z"; !strings.Contains(files[name], want) {
			t.Errorf("%s has no %q:\n%s", name, want, files[name])
		}
	}
	if strings.Contains(files["index.txt"], "was uploaded, but") {
		t.Errorf("the index misses a document that was removed:\n%s", files["index.txt"])
	}
	for _, kind := range []string{"person", "list", "reviewer"} {
		if found := words(all(files), kind); len(found) > 0 {
			t.Errorf("the file has %v", found)
		}
	}
	if _, _, err := r.write(desk.PersonQuery{ReferenceID: rules.RedactedReference}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("the runs of everybody who was redacted: %v, want ErrInvalid", err)
	}
}

func TestARestrictedRunSaysSo(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	history = append(history[:len(history)-4], rules.Event{At: enginetest.Began().Add(time.Hour), Fact: rules.NoteAdded{Notes: "reviewer-note"}})
	by := verification.Person{Name: "reviewer-officer", Identity: "reviewer-officer"}
	restricted, err := rules.Restrict("00000000-0000-7000-8000-000000000001", history, "reviewer-contested", by, enginetest.Began().Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	id := r.keep(restricted)
	for _, row := range []struct {
		reason, says string
		has          bool
	}{
		{"", "has been restricted since 2026-01-05T11:00:00Z. Its personal data is kept, and is not in this file.", false},
		{"asked by the court", "has been restricted since 2026-01-05T11:00:00Z. This file has its personal data all the same.", true},
	} {
		files := r.read(desk.PersonQuery{Run: id, RestrictedReason: row.reason, Documents: r.documents})
		for _, name := range []string{"index.txt", string(id) + "/restricted.txt"} {
			if !strings.Contains(files[name], row.says) {
				t.Errorf("%s has no %q:\n%s", name, row.says, files[name])
			}
		}
		if found := words(all(files), "person"); (len(found) > 3) != row.has {
			t.Errorf("with the reason %q the file has %v", row.reason, found)
		}
		if found := words(all(files), "reviewer"); len(found) > 0 {
			t.Errorf("with the reason %q the file has %v", row.reason, found)
		}
		if !strings.Contains(files["index.txt"], row.reason) || !strings.Contains(files[string(id)+"/data.json"], `"kind": "restricted"`) {
			t.Errorf("the file does not say why or when: %s", files["index.txt"])
		}
	}
}

func TestAPersonsFileSaysThatItsRunsDiffer(t *testing.T) {
	for _, c := range []struct {
		name   string
		inputs []string
		want   bool
	}{
		{"one run", []string{`{"name":"Asha Rao"}`}, false},
		{"the same words", []string{`{"name":"Asha Rao","dob":"1990-01-31"}`, `{"name":"RAO  asha","dob":"1990-01-31"}`}, false},
		{"one without a name", []string{`{"name":"Asha Rao"}`, `{}`, `{"dob":"1990-01-31"}`}, false},
		{"other names", []string{`{"name":"Asha Rao"}`, `{"name":"Asha Rao"}`, `{"name":"Ravi Iyer"}`}, true},
		{"other birth dates", []string{`{"name":"Asha Rao","dob":"1990-01-31"}`, `{"name":"Asha Rao","dob":"1991-01-31"}`}, true},
	} {
		r := newRecords(t)
		for _, input := range c.inputs {
			started := canaries(r.workflow)[:1]
			f, _ := started[0].Fact.(rules.Started)
			f.Input, f.ReferenceID = verification.Data(input), "family-1"
			started[0].Fact = f
			r.keep(started)
		}
		made, files, err := r.write(desk.PersonQuery{ReferenceID: "family-1", Documents: r.documents})
		says := strings.Contains(files["index.txt"], "The runs of this file name different people")
		if err != nil || made.Differ != c.want || says != c.want {
			t.Errorf("%s: the file says that its runs differ: %t in the index, %t, %v; want %t", c.name, says, made.Differ, err, c.want)
		}
	}
}

func TestAPersonsFileHasAllRunsOrNone(t *testing.T) {
	r := newRecords(t)
	r.keep(canaries(r.workflow))
	last := r.keep(canaries(r.workflow))
	q := desk.PersonQuery{ReferenceID: "person-reference", Documents: r.documents}
	made, _, err := r.write(q)
	if want := (desk.PersonFile{Runs: 2, Documents: 2}); err != nil || made != want {
		t.Errorf("the file has %+v, %v; want %+v", made, err, want)
	}
	if err := r.documents.RemoveDocuments(t.Context(), verification.RunRef{Tenant: enginetest.Tenant, Run: last}); err != nil {
		t.Fatal(err)
	}
	made, files, err := r.write(q)
	if made.Missing != 1 || err != nil || !strings.Contains(files["index.txt"], "front ("+upload+") was uploaded") {
		t.Errorf("the file has %+v, %v; want a document to be missing, and the index to say so", made, err)
	}
	q.Documents = nil
	if _, _, err := r.write(q); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("without a document store: %v, want ErrUnavailable", err)
	}
	q.WithoutDocuments = true
	if made, files, err := r.write(q); made.Documents != 0 || err != nil || !strings.Contains(files["index.txt"], "without the uploads") {
		t.Errorf("without documents: %+v, %v, and the index is\n%s", made, err, files["index.txt"])
	}
	for _, q := range []desk.PersonQuery{{ReferenceID: "person"}, {Run: "00000000-0000-7000-8000-00000000ffff"}} {
		if _, _, err := r.write(q); !errors.Is(err, verification.ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", q, err)
		}
	}
	started := canaries(r.workflow)[:1]
	for range desk.MaxPersonRuns - 2 {
		r.keep(started)
	}
	if made, _, err := r.write(q); err != nil || made.Runs != desk.MaxPersonRuns {
		t.Errorf("%d runs are in the file, %v; want %d", made.Runs, err, desk.MaxPersonRuns)
	}
	r.keep(started)
	if _, _, err := r.write(q); !errors.Is(err, verification.ErrInvalid) || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("one run too many: %v, want ErrInvalid", err)
	}
}

func TestAPersonsFileHasTheUploadsOfRows(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	for i, e := range history {
		switch f := e.Fact.(type) {
		case rules.DocumentUploaded:
			f.Field = "owners[1].front"
			history[i].Fact = f
		case rules.CustomerSubmitted:
			if f.Node == "details" {
				f.Data = verification.Data(`{"owners":[{"city":"person-first"},{"city":"person-second","front":{"document_id":"` + upload + `"}}]}`)
				history[i].Fact = f
			}
		}
	}
	folder := string(r.keep(history)) + "/"
	files := r.read(desk.PersonQuery{ReferenceID: "person-reference", By: "asha"})
	if got := files[folder+"documents/1-owners_1__front.png"]; got != "person-content" {
		t.Errorf("the upload is %q", got)
	}
	if text := all(files); !strings.Contains(text, "person-first") || !strings.Contains(text, "person-second") {
		t.Error("the file lacks an answer in a row")
	}
}

func TestAPersonsFileHasTheFactsThatSaySo(t *testing.T) {
	r := newRecords(t)
	history := canaries(r.workflow)
	id := r.keep(history)
	files := r.read(desk.PersonQuery{Run: id, ScreeningReason: "asked by the court"})
	for name, part := range map[string]rules.FilePart{"data.json": rules.FileData, "review.json": rules.FileReview} {
		var got []struct {
			At time.Time `json:"at"`
		}
		if err := json.Unmarshal([]byte(files[string(id)+"/"+name]), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := slices.DeleteFunc(slices.Clone(history), func(e rules.Event) bool {
			began, isGroup := e.Fact.(rules.GroupBegan)
			in := e.About().File
			return in != part && in != rules.FileBoth || isGroup && began.Items == nil
		})
		if len(got) != len(want) || len(want) < 5 {
			t.Errorf("%s has %d entries, want %d", name, len(got), len(want))
		}
	}
}
