// Tests of what a tired person types: each sequence of keys ends as what was begun, or as a refusal.

package console_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// control is Ctrl+Enter in a sequence of keys.
const control = "\n"

// asking is a workflow whose rejections need a reason and notes.
func asking(name string) workflow.Definition {
	w := waiting(name, "Look.")
	w.RejectReasons = []workflow.RejectReason{{Code: "listed", Label: "Is on the list"}, {Code: "name", Label: "Another name"}}
	w.Notes = workflow.NotesOnReject
	return w
}

// open opens the page of a run.
func (d *desk) open(tab *browser.Tab, run verification.RunID) {
	d.t.Helper()
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.Wait(loaded)
}

// close leaves a page, which sends a verdict that is held back.
func (d *desk) close(tab *browser.Tab) {
	d.t.Helper()
	tab.Wait(loaded + ` && !document.querySelector("form[data-sent]")`)
	tab.Go(d.server.URL + "/console/workflows")
	tab.Wait(`document.readyState === "complete" && (document.querySelector("[data-held-verdict]")?.hidden ?? true) || document.querySelector(".held.good, .held.warning")`)
}

func TestEachSequenceOfKeysEndsAsItBegan(t *testing.T) {
	d := serve(t)
	plain, strict := waiting("Plain", "Look."), asking("Strict")
	last := d.begin(d.Apply(waiting("Last", "Look.")), "last") // so that there is a next run
	for name, w := range map[string]workflow.Definition{"plain": plain, "strict": strict} {
		applied := d.Apply(w)
		tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
		for _, row := range []struct {
			keys                 string
			plain, strict, notes string // decisions: empty for none
		}{
			{"r2vAnother face.\t\r", "reject", "reject", "Another face."},
			{"r2Another face.\t\r", "reject", "reject", "Another face."},
			{"r2another face, expired\t\r", "reject", "reject", "another face, expired"},
			{"r\t\r", "", "", ""},
			{"r2\t\t\r", "", "", ""},
			{"r2 a note\t\r", "reject", "reject", " a note"},
			{"r2no match" + control, "reject", "reject", "no match"},
			{"r2no match\x1b\r", "reject", "reject", "no match"},
			{"r2no match\x1b\x1b\r", "", "", "no match"},
			{"r2no match\x1bn", "", "", "no matchn"},
			{"ra\r", "", "", "a\n"},
			{"r2aadhaar differs" + control, "reject", "reject", "aadhaar differs"},
			{"r1\rSame name\t\r", "reject", "reject", "Same name"},
			{"ar\r", "", "", "r\n"},
			{"a\r", "approve", "approve", ""},
			{"areal person\t\r", "approve", "approve", "real person"},
			{"a real person" + control, "approve", "approve", " real person"},
			{"vno match\t", "", "", "no match"},
			{"vno match" + control, "", "", "no match"},
			{"vno match\x1bn", "", "", "no match"},
			{"vno match\x1bo match", "", "", "no match"},
			{"vno match\x1br" + "\r", "reject", "", "no match"},
			{"Same name \r", "", "", ""},
			{"vbad\x1br2" + control, "reject", "reject", "bad"},
		} {
			want := map[string]string{"plain": row.plain, "strict": row.strict}[name]
			run := d.begin(applied, "case")
			path := "/runs/" + string(run)
			d.open(tab, run)
			keys := row.keys
			if name == "plain" { // without reasons the digit would be notes
				keys = strings.NewReplacer("r1", "r", "r2", "r").Replace(keys)
			}
			if rest, refused := strings.CutPrefix(keys, "r1\r"); refused {
				tab.Key("r1\r")
				tab.See("#notes-error")
				tab.Wait(loaded)
				keys = rest
			}
			tab.Key(keys)
			if want == "" {
				tab.Wait(`location.pathname.startsWith("/console` + path + `") && document.querySelector("#notes") && !document.querySelector("form[data-sent]") && ` + loaded)
				if got, typed := browser.Eval[string](tab, `document.querySelector("#notes").value`), row.notes; name == "strict" && got != typed {
					t.Errorf("%s: after %q the notes are %q, want %q", name, row.keys, got, typed)
				}
			} else {
				tab.Wait(`!location.pathname.endsWith("` + path + `")`)
			}
			d.close(tab)
			got := d.Run(run)
			if decision := strings.TrimPrefix(string(got.Decision), "review"); decision != want || want != "" && name == "strict" && got.Notes != row.notes {
				t.Errorf("%s: %q ends as %q with the notes %q, want %q %q", name, row.keys, decision, got.Notes, want, row.notes)
			}
			if other := d.Run(last).Decision; other != rules.DecisionReview {
				t.Fatalf("%s: after %q another run is %s", name, row.keys, other)
			}
			if want == "" {
				d.GiveVerdict(run, rules.DecisionApprove)
			}
		}
	}
}

func TestNoRandomKeysGiveTheOtherVerdict(t *testing.T) {
	d := serve(t)
	applied := []workflow.Workflow{d.Apply(waiting("Plain", "Look.")), d.Apply(asking("Strict"))}
	d.begin(d.Apply(waiting("Last", "Look.")), "last")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	parts := []string{"1", "2", "v", "\t", "\t", "\r", "\r", " ", control, "another face", "a", "r", "no match, same name", "expired ", "n", "q", "u", "g", "s", "o", "?", "j", "k", "é"}
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	for i := range 24 {
		run := d.begin(applied[i%2], "case")
		d.open(tab, run)
		begun, never := "r", rules.DecisionApprove
		if i%4 > 1 {
			begun, never = "a", rules.DecisionReject
		}
		tab.Key(begun)
		keys := begun
		for range 8 {
			if part := parts[random.IntN(len(parts))]; browser.Eval[bool](tab, `location.pathname.endsWith("`+string(run)+`") && !document.querySelector("form[data-sent]")`) {
				keys += part
				tab.Key(part)
				tab.Wait(loaded)
			}
		}
		d.close(tab)
		if got := d.Run(run).Decision; got == never {
			t.Errorf("%q ends as %s (seed %d)", keys, got, seed)
		} else if got == rules.DecisionReview {
			d.GiveVerdict(run, rules.DecisionApprove)
		}
	}
}

func TestAProposalIsNotConfirmedByTheOtherKey(t *testing.T) {
	d := serve(t)
	w := waiting("Eyes", "Look.")
	w.FourEyes = true
	applied := d.Apply(w)
	d.begin(applied, "last")
	asha, ravi := d.as(reviewerCalled("asha")), d.tab(reviewerCalled("ravi"), browser.Options{Wide: true})
	for _, row := range []struct {
		proposed rules.Decision
		keys     string
		want     rules.Decision
		proposal rules.Decision // that is left
	}{
		{rules.DecisionApprove, "rvNot him.\t\r", rules.DecisionReview, rules.DecisionNone},
		{rules.DecisionApprove, "rno, another face\t\r", rules.DecisionReview, rules.DecisionNone},
		{rules.DecisionApprove, "a\r", rules.DecisionApprove, rules.DecisionNone},
		{rules.DecisionReject, "avIt is him.\t\r", rules.DecisionReview, rules.DecisionNone},
		{rules.DecisionReject, "r\r", rules.DecisionReject, rules.DecisionNone},
		{rules.DecisionApprove, "r\t\r", rules.DecisionReview, rules.DecisionApprove},
	} {
		run := d.begin(applied, "case")
		path := "/runs/" + string(run)
		wants(t, asha.post(path+"/verdict", append(verdictForm(t, asha.get(path)), "decision", string(row.proposed))...), http.StatusSeeOther)
		asha.post(path + "/release")
		d.open(ravi, run)
		ravi.Key(row.keys)
		if row.proposal == rules.DecisionNone {
			ravi.Wait(`!location.pathname.endsWith("` + path + `")`)
		}
		d.close(ravi)
		rec, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
		if err != nil || rec.Run.Decision() != row.want || rec.Run.Proposal.Decision != row.proposal {
			t.Errorf("%s proposed, %q: %s with the proposal %q, %v; want %s and %q",
				row.proposed, row.keys, rec.Run.Decision(), rec.Run.Proposal.Decision, err, row.want, row.proposal)
		}
	}
}

// A page after a refusal says so at the field, which has the focus, also without script.
func TestARefusalPutsTheFocusIntoItsField(t *testing.T) {
	d := serve(t)
	strict := d.Apply(asking("Strict"))
	for _, o := range []browser.Options{{Wide: true}, {Wide: true, NoScript: true}} {
		tab := d.tab(reviewer(verification.RoleReviewer), o)
		for _, row := range []struct{ decision, reason, notes, field, first string }{
			{"reject", "name", "", "notes", "reject"},
			{"reject", "", "Not him.", "reason", "reject"},
			{"reject", "", "", "reason", "reject"},
			{"approve", "name", "It is him.", "reason", "approve"},
			{"approve", "listed", "", "reason", "approve"},
		} {
			run := d.begin(strict, "case")
			d.open(tab, run)
			tab.Set("#reason", row.reason)
			if row.notes != "" {
				tab.Fill("#notes", row.notes)
			}
			tab.Press(`form.decide button[value="` + row.decision + `"]`)
			tab.See("#" + row.field + "-error")
			tab.Wait(loaded)
			tab.Wait(`document.activeElement.id === "` + row.field + `"`)
			tab.See(`.verdict > .note a[href="#` + row.field + `"]`)
			for expression, want := range map[string]string{
				`document.activeElement.getAttribute("aria-describedby").trim()`:         row.field + "-error",
				`document.querySelector("form.decide button[name=decision]").value`:      row.first,
				`document.querySelector("#notes").value`:                                 row.notes,
				`document.querySelector("#reason").value`:                                row.reason,
				`String(document.querySelectorAll("form.decide [aria-invalid]").length)`: map[bool]string{true: "2", false: "1"}[row.reason+row.notes == ""],
			} {
				if got := browser.Eval[string](tab, expression); got != want {
					t.Errorf("%+v, script %t: %s = %q, want %q", row, !o.NoScript, expression, got, want)
				}
			}
			if !o.NoScript && row.notes == "" {
				tab.Key("no match, another name\t")
				if got := d.Run(run).Decision; got != rules.DecisionReview {
					t.Errorf("%+v: after a refusal and a text the run is %s", row, got)
				}
				inspect(t, tab, "run-refused-"+row.decision+"-"+row.field)
			}
			d.GiveVerdict(run, rules.DecisionApprove)
		}
	}
}

// No key of one page acts on the next one.
func TestKeysOfAPageThatIsLeftDoNothing(t *testing.T) {
	d := serve(t)
	ids := d.fill(4)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	for _, keys := range []string{"na\r", "a\ra\r", "a\rname", "a\rua\r"} {
		d.open(tab, ids[0])
		tab.Key(keys)
		d.close(tab)
		for i, id := range ids {
			if got := d.Run(id).Decision; i > 0 && got != rules.DecisionReview {
				t.Errorf("%q on the first run: run %d is %s", keys, i+1, got)
			}
		}
	}
}
