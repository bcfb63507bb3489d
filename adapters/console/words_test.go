// Tests of the words for what became of a check: the same ones in the queue, on the page of a run and in its timeline.

package console_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// outcome is a provider that always answers the same, and has words for its answers.
type outcome struct {
	verification.CheckOutcome
	data map[string]any
}

func (o outcome) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{
		Words: map[verification.CheckOutcome]string{verification.OutcomeFailed: "The person is not of age <b>here</b>."},
		Data: verification.Data(`{"type":"object","properties":{"reason":{"type":"string","title":"Why","x-words":{` +
			`"too_young":"The person is too young."}}}}`),
	}
}

func (o outcome) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: o.CheckOutcome, Data: o.data}, nil
}

// answers is a workflow whose checks have every answer but a good one.
func answers() workflow.Definition {
	d := workflow.Definition{Workflow: "answers", Name: "Open an account", Start: "age", Nodes: map[verification.NodeID]workflow.Node{
		"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"}, "done": {Type: workflow.NodeEnd, Outcome: "approved"},
	}}
	order := []verification.NodeID{"age", "plain", "covered", "unsure", "outage", "doubted", "look"}
	for i, id := range order[:len(order)-1] {
		provider := string(id)
		if id == "outage" || id == "doubted" {
			provider = "script"
		}
		d.Nodes[id] = workflow.Node{
			Type: workflow.NodeCheck, Key: string(id), Label: strings.ToUpper(string(id[:1])) + string(id[1:]), Provider: provider,
			OnFailed: order[i+1], OnUnavailable: order[i+1], Next: order[i+1],
		}
	}
	return d
}

// answer starts a run of answers, and returns its id.
func answer(t *testing.T) (*desk, verification.RunID) {
	d := serve(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["age"] = outcome{verification.OutcomeFailed, map[string]any{"reason": "too_young", "score": 0}}
		p.Providers["covered"], p.Providers["unsure"] = outcome{CheckOutcome: verification.OutcomeNoCoverage}, outcome{CheckOutcome: verification.OutcomeInconclusive}
		p.Providers["plain"] = refuses("")
	})
	d.Provider.On("outage", enginetest.Reply{Err: verification.Permanent(context.DeadlineExceeded)})
	d.Provider.On("doubted", enginetest.Pass(map[string]any{"source_ok": false}))
	run := d.begin(d.Apply(answers()), "person-1")
	d.Settle()
	return d, run
}

func TestEveryAnswerHasItsOwnSentence(t *testing.T) {
	d, run := answer(t)
	p := d.as(reviewerCalled("asha"))
	page := p.get("/runs/" + string(run))
	for step, want := range map[string]string{
		"age":     "The person is not of age <b>here</b>. The person is too young.",
		"covered": "The source does not cover this person or company.",
		"unsure":  "What the source found decides nothing.",
		"outage":  "The source gave no answer.",
		"doubted": "The source could not vouch for the answer.",
	} {
		if got := lines(t, page, "step-"+step, "</article>"); !strings.Contains(got, want) {
			t.Errorf("the card of %s reads %q, want %q", step, got, want)
		}
		wants(t, p.get("/queue"), http.StatusOK, html.EscapeString(want))
	}
	wants(t, page, http.StatusOK, "!Source ok", "!<b>here</b>")
	timeline := lines(t, page, "timeline", "</section>")
	for _, want := range []string{"Age: the check did not pass. The person is not of age <b>here</b>. The person is too young.", "Covered: the source cannot tell. The source does not cover"} {
		if !strings.Contains(timeline, want) {
			t.Errorf("the timeline reads %q, want %q", timeline, want)
		}
	}
}

func TestSourcesOfAGroupAreOneReason(t *testing.T) {
	d := serve(t)
	for _, source := range []string{"address.bureau", "address.register", "address.utility"} {
		d.Provider.On(source, enginetest.Fail(nil))
	}
	d.owned()
	wants(t, d.as(reviewerCalled("asha")).get("/queue"), http.StatusOK, "0 of 3 sources confirmed")
}

// visible returns the text of a page outside of links, times, code, addresses and marked ids.
func visible(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page = regexp.MustCompile(`(?s)<details class="path">.*<section aria-labelledby="timeline">`).ReplaceAllString(page, " ") // expressions, in the details
	for _, element := range []string{"svg", "script", "template", "style", "code", "a", "time"} {
		page = regexp.MustCompile(`(?s)<`+element+`\b.*?</`+element+`>`).ReplaceAllString(page, " ")
	}
	page = regexp.MustCompile(`(?s)<dd class="mono".*?</dd>|<span class="(?:mono|hidden")[^>]*>[^<]*-[0-9a-f]{12}\b.*?</span>|<bdi dir="ltr">.*?</bdi>|<[^>]*>`).ReplaceAllString(page, " ")
	return strings.NewReplacer("\u2068", "", "\u2069", "").Replace(html.UnescapeString(page))
}

func TestNoPageShowsACode(t *testing.T) {
	code := regexp.MustCompile(`\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b[a-z]{2,}\.[a-z_]{2,}\b|\b(?:true|false)\b|\b[0-9a-f]{8}-[0-9a-f]{4}-`)
	if got := code.FindAllString("too_young, crime.terror, true: 0191f3c0-7a11-7c2e", -1); len(got) != 4 {
		t.Fatalf("the expression finds %q", got)
	}
	d, run := answer(t)
	var entries []store.AuditEntry
	for _, action := range store.AuditActions() {
		e := store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorSystem}, Action: action, Run: trailRun}
		if action == store.AuditPersonSearched { // which is about no run
			e.Run = ""
		}
		entries = append(entries, e)
	}
	d.trail(entries...)
	first := d.Apply(onboarding())
	second, last := d.Apply(edited()), d.notified(2)
	workflow := "/workflows/" + string(first.ID)
	p := d.as(reviewer(verification.RoleAdmin))
	wants(t, p.post("/runs/"+string(run)+"/hold", "notes", "A court asked."), http.StatusSeeOther)
	wants(t, p.post("/runs/"+string(last.ID)+"/redact", "reason", "asked"), http.StatusSeeOther)
	for _, path := range []string{
		"/queue", "/runs", "/runs/" + string(run), "/runs/" + string(d.owned()), "/numbers", "/audit", "/audit?all=1", "/deliveries", "/workflows", workflow,
		workflow + "?before=" + first.LatestHash + "&version=" + second.LatestHash, "/runs/kept", "/runs/kept?list=run.redacted", "/runs/" + string(last.ID),
	} {
		a := p.get(path)
		wants(t, a, http.StatusOK)
		if got := code.FindAllString(visible(a.body), -1); len(got) > 0 {
			t.Errorf("%s shows the codes %q", path, got)
		}
	}
}
