// Tests of what is left of owners and hits in words once their run is restricted or redacted.

package console_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The texts about the first and the second owner of gone, about its company, and of its reviewers.
var (
	firstWords   = []string{"kanari", "1961-03-14", "piepmatz"}
	secondWords  = []string{"zeisig", "1972-05-06", "1972-05-07", "stieglitz"}
	companyWords = []string{"goldammer"}
	spokenWords  = []string{"spottdrossel"}
)

// gone serves runs of a company whose two owners have a hit on each of two lists.
func gone(t *testing.T, changes ...enginetest.Change) (*desk, func(workflow.Definition) verification.RunID) {
	t.Helper()
	printer, err := pdf.New(pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := list{
		"Kanari Vogel": {ID: "piepmatz-7", Name: "KANARIS, Vogel", Alias: "Piepmatz Vogel", Score: 1, BirthDates: []string{"1961-03-14"}, Digest: "d"},
		"Zeisig Fink":  {ID: "stieglitz-9", Name: "ZEISIG, Finn", Alias: "Stieglitz Fink", Score: 0.9, BirthDates: []string{"1972-05-07"}, Digest: "d"},
	}
	d := serve(t, append(changes, searching, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["lists"], p.Providers["identity"], p.Printer = l, refuses(""), printer
	})...)
	return d, func(w workflow.Definition) verification.RunID {
		return d.ownIn(w, "Goldammer Maritime", "goldammer-7", [2]string{"Kanari Vogel", "1961-03-14"}, [2]string{"Zeisig Fink", "1972-05-06"})
	}
}

// decided has asha decide each hit of a run: all but the last one are of another person.
func (d *desk) decided(t *testing.T, run verification.RunID) {
	t.Helper()
	page, asha := "/runs/"+string(run), d.as(reviewerCalled("asha"))
	for i, match := range []string{"other", "other", "other", "unsure"} {
		form := append(hitForms(t, asha.get(page))[i][1:], "match", match, "reason", "Spottdrossel says so.")
		wants(t, asha.post(page+"/hits", form...), http.StatusSeeOther)
	}
}

// surfaces returns all that an administrator reads of a run, in lower case.
func (d *desk) surfaces(t *testing.T, run verification.RunID) map[string]string {
	t.Helper()
	who := reviewer(verification.RoleAdmin)
	p, all, page := d.as(who), map[string]string{}, "/runs/"+string(run)
	for name, path := range map[string]string{
		"run page": page, "runs": "/runs", "queue": "/queue", "kept": "/runs/kept?list=run.redacted",
		"audit": "/audit?all=1", "audit of the run": "/audit?all=1&about=" + string(run), "audit file": "/audit.ndjson",
		"report": page + "/report.pdf", "report for the file": page + "/report.pdf?for=file",
	} {
		all[name] = printedText(p.get(path).body)
	}
	all["run page in Hindi"] = d.as(who).get(page + "?lang=hi").body
	if file := p.post(page+"/person", "screening", "1", "notes", "An order."); file.status == http.StatusOK {
		for name, body := range files(t, file) {
			all["file of the person: "+name] = body
		}
	} else {
		all["refusal of the file of the person"] = file.body
	}
	h, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"history": h.Events, "run": h.Run, "report in JSON": h.Report} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(raw)
	}
	for name, text := range all {
		all[name] = strings.ToLower(text)
	}
	return all
}

// printedText returns a text; of a PDF, with what its streams say.
func printedText(text string) string {
	for part := range bytes.SplitSeq([]byte(text), []byte("\nstream\n")) {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			content, _ := io.ReadAll(r) // what follows the stream is no error of it
			text += string(bytes.ReplaceAll(content, []byte{0}, nil))
		}
	}
	return text
}

// wantWords fails the test for each surface that has a word, or for each one of has that lacks any of them.
func wantWords(t *testing.T, when string, surfaces map[string]string, none []string, has map[string][]string) {
	t.Helper()
	for name, text := range surfaces {
		for _, word := range none {
			if at := strings.Index(text, word); at >= 0 {
				t.Errorf("%s: %s has %q in\n%s", when, name, word, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	for name, words := range has {
		for _, word := range words {
			if !strings.Contains(surfaces[name], strings.ToLower(word)) {
				t.Errorf("%s: %s lacks %q", when, name, word)
			}
		}
	}
}

func TestNoWordOfOwnersAndHitsIsLeft(t *testing.T) {
	d, start := gone(t)
	run := start(named())
	page, admin := "/runs/"+string(run), d.as(reviewer(verification.RoleAdmin))
	all := slices.Concat(firstWords, secondWords, companyWords, spokenWords)
	wantWords(t, "in the queue", d.surfaces(t, run), nil, map[string][]string{"queue": {"kanari", "zeisig", "goldammer"}})
	d.decided(t, run)
	asha := d.as(reviewerCalled("asha"))
	wants(t, asha.post(page+"/verdict", append(verdictForm(t, asha.get(page)), "decision", "approve", "notes", "Spottdrossel agrees.")...), http.StatusSeeOther)
	d.Settle()
	stays := map[string][]string{
		"run page":            {"Met, 1 hit", "Another person", "asha", "Approved", "Owner 1 of 2", "Owner 2 of 2"},
		"audit of the run":    {"Another person: ", "asha", "on the list", "Approved"},
		"report":              {"4 hits"},
		"report for the file": {"Approved", "4 hits", "asha"},
		"history":             {`"match":"other"`, `"decision":"approve"`},
	}
	before := map[string][]string{"audit": {"kanari"}, "history": all, "run page": append([]string{"Met, 1 hit"}, all...), "report for the file": {"kanari", "zeisig", "goldammer", "spottdrossel", "1961-03-14"}}
	wantWords(t, "before", d.surfaces(t, run), nil, before)

	wants(t, admin.post(page+"/restrict", "notes", "A dispute."), http.StatusSeeOther)
	wantWords(t, "restricted", d.surfaces(t, run), all, stays)
	wants(t, admin.post(page+"/restrict/end", "notes", "Settled."), http.StatusSeeOther)
	wantWords(t, "lifted", d.surfaces(t, run), nil, before)

	wants(t, admin.post(page+"/redact", "reason", "asked"), http.StatusSeeOther)
	d.Settle()
	stays["audit"] = []string{"redacted", "an entry that is not shown", "Removed personal data"}
	redacted := d.surfaces(t, run)
	wantWords(t, "redacted", redacted, all, stays)
	if n := strings.Count(redacted["history"], `"match":"other"`); n != 3 {
		t.Errorf("%d decisions on hits stay, want 3", n)
	}
}

// A run that a restore redacts while it needs a verdict is in the queue all the same.
func TestARedactedRunInTheQueueHasNoWordOfOwners(t *testing.T) {
	ledger := blob.MemoryLedger()
	d, start := gone(t, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
	w := named()
	owners := w.Nodes["owners"]
	owners.OnNotMet, owners.Next = "done", "done"
	delete(w.Nodes, "look")
	w.Nodes["owners"] = owners
	run := start(w)
	d.decided(t, run)
	d.Advance(time.Minute)
	if err := ledger.NoteErasures(t.Context(), verification.Erasure{
		Tenant: enginetest.Tenant, Run: run, Kind: verification.ErasureRedacted, At: d.Clock.Now(), StartedAt: d.Run(run).StartedAt,
	}); err != nil {
		t.Fatal(err)
	}
	if applied, err := d.Engine.ApplyErasures(t.Context(), ""); err != nil || applied.Redacted != 1 {
		t.Fatalf("ApplyErasures = %+v, %v", applied, err)
	}
	d.Settle()
	all := slices.Concat(firstWords, secondWords, companyWords, spokenWords)
	wantWords(t, "redacted", d.surfaces(t, run), all, map[string][]string{
		"queue": {"redacted", string(run)}, "run page": {"Owner 1 of 2", "Another person", "Met, 1 hit"}, "kept": {"redacted", "ledger of erasures"},
	})
}

// The file about an owner has the hits of this owner and none of the others, and none once the run is redacted.
func TestAFileOfAnOwnerHasOnlyTheHitsOfTheOwner(t *testing.T) {
	d, start := gone(t)
	run := start(named())
	d.decided(t, run)
	page, admin := "/runs/"+string(run), d.as(reviewer(verification.RoleAdmin))
	for element, words := range map[string][2][]string{"owners[1]": {firstWords, secondWords}, "owners[2]": {secondWords, firstWords}} {
		file := strings.ToLower(fmt.Sprint(files(t, admin.post(page+"/person", "element", element, "screening", "1", "notes", "An order."))))
		wantWords(t, element, map[string]string{"file": file}, append(words[1], companyWords...), map[string][]string{"file": words[0]})
	}
}
