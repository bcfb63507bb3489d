// Tests of what a reviewer has on one screen: some sixty runs as a bank would have them, measured in a browser.

package console_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// lists is a provider of several lists: the hits of a person by list and name.
type lists map[string][]verification.Hit

func (lists) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{Screens: true}
}

func (l lists) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	list, _ := r.With["list"].(string)
	name, _ := r.With["name"].(string)
	hits := l[list+" "+name]
	return verification.CheckResult{
		Outcome: verification.OutcomePassed, Data: map[string]any{"analysis_ok": len(hits) == 0},
		Screening: &verification.ScreeningResult{List: list, ListVersion: "1", Total: len(hits), Hits: hits},
	}, nil
}

// retail is an account for a person: the registry of PANs, two lists, and a face.
func retail(fourEyes bool) workflow.Definition {
	screen := func(list, label string, next verification.NodeID) workflow.Node {
		return workflow.Node{
			Type: workflow.NodeCheck, Label: label, Provider: "lists", Next: next,
			With: verification.Data(`{"list":"` + list + `","kind":"person","name":"${steps.details.data.name}","birth_date":"${steps.details.data.dob}","countries":["in"]}`),
		}
	}
	return workflow.Definition{
		Workflow: "retail" + map[bool]string{true: "-eyes"}[fourEyes], Name: "Retail account", Start: "details", FourEyes: fourEyes, ReviewDueMinutes: 24 * 60,
		Subject: &workflow.SubjectFields{Name: "steps.details.data.name", BirthDate: "steps.details.data.dob", Number: "steps.details.data.pan", Kind: workflow.FactPerson},
		Compare: []workflow.Comparison{{Fact: "Name", Of: []string{"steps.details.data.name", "steps.registry.data.registered_name"}, OnDifference: workflow.DifferenceFlag}},
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "registry", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name", Search: true},
				{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth", Search: true},
				{Name: "pan", Type: workflow.FieldText, Label: "PAN", Search: true},
				{Name: "mail", Type: workflow.FieldText, Label: "Mail", Search: true},
			}},
			"registry":  {Type: workflow.NodeCheck, Label: "PAN registry", Provider: "script", OnFailed: workflow.TargetNext, OnUnavailable: workflow.TargetNext, Next: "sanctions"},
			"sanctions": screen("sanctions", "Sanctions screening", "pep"),
			"pep":       screen("pep", "Politically exposed people", "done"),
			"done":      {Type: workflow.NodeEnd},
		},
	}
}

// shown is a run of the bank, with what a reviewer must see of it at once.
type shown struct {
	run      verification.RunID
	name     string
	evidence string // a selector of the elements that must be in view, beside the buttons
	hit      bool   // the buttons are those of the first open hit
	past     bool   // a run of the person was rejected
	faces    bool   // a check of faces did not pass
}

// bank is a desk with some sixty runs.
type bank struct {
	*desk
	queue []shown
}

// hitOf returns a hit.
func hitOf(name, born string, topics ...string) verification.Hit {
	h := verification.Hit{ID: "f-" + name + born, Name: name, Score: 1, Topics: topics, Digest: "d", Countries: []string{"ru"}}
	if born != "" {
		h.BirthDates = []string{born}
	}
	return h
}

const longName = "Maria de los Angeles Guadalupe Fernanda Hernandez-Villanueva y Rodriguez de la Torre Quintero"

func newBank(t *testing.T) *bank {
	t.Helper()
	known := lists{
		"sanctions Fatima Al Sayed":  {hitOf("Fatima Al Sayed", "1964-09-17", "sanction")},
		"sanctions Fatima Al Saied":  {hitOf("Fatima Al Saied", "1977-09-17", "sanction")},
		"pep Rajiv Menon":            {hitOf("Rajiv Menon", "", "role.pep")},
		"sanctions فاطمة السيد":      {hitOf("Fatima Al Sayed", "1977-09-17", "sanction")},
		"pep आशा राव":                {hitOf("Asha Rao", "1990-01-01", "role.pep")},
		"pep " + longName:            {hitOf("Maria Hernandez Villanueva", "1950", "role.pep")},
		"sanctions Viktor Zamoyskov": {hitOf("Viktor Aleksandrovich Zamoyskov", "1961-03-14", "sanction"), hitOf("Victor Zamoisky", "1980-01-01", "crime.terror"), hitOf("V. Zamoyskov", "", "debarment")},
		"pep Viktor Zamoyskov":       {hitOf("Viktor Zamoyskov", "1961-03-14", "role.pep"), hitOf("Viktor Zamoyskov", "1988", "role.rca")},
		"sanctions Victor Zamoyskov": {hitOf("Viktor Zamoyskov", "1961-03-14", "sanction")},
		"pep Victor Zamoyskov":       {hitOf("Viktor Zamoyskov", "1961-03-14", "role.pep")},
		"sanctions Omar Haddad":      {hitOf("Omar Haddad", "1970-05-05", "sanction"), hitOf("Umar Hadad", "1971", "sanction")},
		"pep Omar Haddad":            {hitOf("Omar Haddad", "1999-05-05", "role.pep"), hitOf("O. Haddad", "", "role.pep")},
	}
	for i, name := range []string{"Lena Fischer", "Tomas Novak", "Grace Okafor", "Yuki Tanaka", "Ana Souza", "Ivan Petrov", "Mei Lin", "Sara Cohen", "Ali Rezaei", "Nina Berg", "Paul Weber", "Olga Sidorova", "Li Wei", "Noor Jahan", "Tim Brown"} {
		known[[]string{"sanctions ", "pep "}[i%2]+name] = []verification.Hit{hitOf(name, fmt.Sprint(1920+7*i), []string{"sanction", "role.pep"}[i%2])}
	}
	b := &bank{desk: serve(t, searching, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["lists"], p.Providers["comparer"], p.Providers["identity"] = known, comparer{p.Providers["script"]}, refuses("Kabir Bose")
	})}
	for i, name := range []string{
		"Fatima Al Sayed", "Fatima Al Saied", "Rajiv Menon", "فاطمة السيد", "आशा राव", longName, "Viktor Zamoyskov", "Lena Fischer", "Tomas Novak", "Grace Okafor",
		"Yuki Tanaka", "Ana Souza", "Ivan Petrov", "Mei Lin", "Sara Cohen", "Ali Rezaei", "Nina Berg", "Paul Weber", "Olga Sidorova", "Li Wei", "Noor Jahan", "Tim Brown",
	} {
		b.apply(false, fmt.Sprintf("MB-%d", 4100+i), name, fmt.Sprintf("ABCPR%04dF", i), shown{hit: true, evidence: ".hit[data-open] tr:first-child"})
	}
	b.differing()
	b.pictures()
	b.companies()
	b.groups()
	b.unanswered()
	b.proposals()
	b.kept()
	return b
}

// apply starts a run of a person, born on 1977-09-17, whose PAN the registry knows under the same name.
func (b *bank) apply(fourEyes bool, reference, name, pan string, s shown) verification.RunID {
	b.t.Helper()
	run := b.Start(b.Apply(retail(fourEyes)).ID, engine.StartRequest{ReferenceID: reference}).ID
	b.Submit(run, "details_submitted", map[string]any{"name": name, "dob": "1977-09-17", "pan": pan, "mail": "family@example.com"})
	return b.add(run, reference+" "+name, s)
}

func (b *bank) add(run verification.RunID, name string, s shown) verification.RunID {
	b.t.Helper()
	b.Advance(time.Minute)
	if b.Run(run).Decision == rules.DecisionReview {
		s.run, s.name = run, name
		b.queue = append(b.queue, s)
	}
	return run
}

// differing has people whose registered name differs, and some of whom were rejected before.
func (b *bank) differing() {
	for i, name := range []string{"Muthuvel Kandaswamy", "Ravi Kumar", "Asha Rao", "Meera Iyer", "Joseph D'Souza", "Anil Kapoor Singh", "Zoya Akhtar", "Dev Patel"} {
		pan := fmt.Sprintf("BCDPK%04dG", i)
		b.Provider.On("registry", enginetest.Pass(map[string]any{"registered_name": "KUMAR BALAN"}))
		before := b.apply(false, fmt.Sprintf("MB-%d", 4200+i), name, pan, shown{evidence: "tr.differs"})
		if i < 3 {
			b.GiveVerdict(before, rules.DecisionReject)
			b.queue = b.queue[:len(b.queue)-1]
			b.apply(false, fmt.Sprintf("MB-%d", 4210+i), name, pan, shown{evidence: "tr.differs", past: true})
		}
	}
	b.Provider.On("registry", enginetest.Pass(map[string]any{}))
}

// pictures has faces that did not pass, and rounds.
func (b *bank) pictures() {
	w := b.Apply(faces())
	for i := range 8 {
		reply := enginetest.Fail(read(0.1+0.05*float64(i), "MEERA NAIR"))
		if i%3 == 2 {
			reply = enginetest.Pass(read(0.6, "MEERA NAIR"))
			reply.Result.Outcome = verification.OutcomeInconclusive
		}
		b.Provider.On("face", reply)
		run := b.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprintf("MB-%d", 4300+i)}).ID
		ids := b.photos(run, fmt.Sprintf("Meera Nair %d", i), "1992-11-03", "")
		s := shown{evidence: ".faces img", faces: true}
		if i >= 4 {
			b.AskAgain(run, rules.AskAgain{Reasons: []string{"does_not_match"}, By: "asha", Identity: "asha"})
			b.Advance(time.Hour)
			b.photos(run, fmt.Sprintf("Meera K. Nair %d", i), "1992-11-03", ids["card"])
			s.evidence = ".faces img, .changed h2"
		}
		b.add(run, fmt.Sprint("face ", i), s)
	}
	listed := faces()
	face, sanctions, pep := listed.Nodes["face"], retail(false).Nodes["sanctions"], retail(false).Nodes["pep"]
	face.Next, pep.Next = "sanctions", "look"
	listed.Workflow, listed.Nodes["face"], listed.Nodes["sanctions"], listed.Nodes["pep"] = "faces-listed", face, sanctions, pep
	for i, name := range []string{"Viktor Zamoyskov", "Fatima Al Saied"} {
		b.Provider.On("face", enginetest.Fail(read(0.2, "MEERA NAIR")))
		run := b.Start(b.Apply(listed).ID, engine.StartRequest{ReferenceID: fmt.Sprintf("MB-%d", 4320+i)}).ID
		b.photos(run, name, "1977-09-17", "")
		b.add(run, fmt.Sprint("face and hits ", i), shown{hit: true, faces: true, evidence: ".faces img, .hit[data-open] tr:first-child"})
	}
}

// companies has owners, one of whom was never screened, and one company with eight owners and six hits.
func (b *bank) companies() {
	victor, kabir := [2]string{"Victor Zamoyskov", "1961-03-14"}, [2]string{"Kabir Bose", "1970-04-01"}
	eight := [][2]string{victor, {"Omar Haddad", "1970-05-05"}}
	for i := range 6 {
		eight = append(eight, [2]string{fmt.Sprintf("Owner Name%d", i), fmt.Sprintf("1980-04-0%d", i+1)})
	}
	hits := shown{hit: true, evidence: ".hit[data-open] tr:first-child"}
	b.add(b.own("BIZ-1", victor, kabir, [2]string{"Asha Rao", "1980-04-01"}), "BIZ-1", hits)
	b.add(b.own("BIZ-2", victor, [2]string{"Asha Rao", "1980-04-01"}), "BIZ-2", hits)
	b.add(b.own("BIZ-3", [2]string{"Omar Haddad", "1970-05-05"}), "BIZ-3", hits)
	b.add(b.own("BIZ-4", kabir, [2]string{"Asha Rao", "1980-04-01"}), "BIZ-4", shown{evidence: ".owners tbody tr"})
	b.add(b.own("BIZ-8", eight...), "BIZ-8", shown{hit: true, evidence: ".owners tbody tr, .hit[data-open] tr:first-child"})
}

// groups has companies whose address was not confirmed.
func (b *bank) groups() {
	for i := range 5 {
		b.Provider.On("address.bureau", enginetest.Fail(map[string]any{"reason": "another address"}))
		b.Provider.On("address.register", enginetest.Refuse())
		run := b.begin(b.Apply(company()), fmt.Sprintf("CO-%d", i))
		b.Submit(run, "details_submitted", owners(fmt.Sprintf("Acme Trading %d", i), "Asha Rao", "Meera Iyer"))
		b.add(run, fmt.Sprint("group ", i), shown{evidence: "#step-address h3"})
	}
}

// unanswered has checks without an answer.
func (b *bank) unanswered() {
	none := enginetest.Pass(nil)
	none.Result.Outcome = verification.OutcomeNoCoverage
	unclear := enginetest.Pass(nil)
	unclear.Result.Outcome = verification.OutcomeInconclusive
	for i, reply := range []enginetest.Reply{enginetest.Refuse(), none, unclear, enginetest.Fail(map[string]any{"reason": "not found"})} {
		b.Provider.On("registry", reply)
		w := retail(false)
		look := w.Nodes["pep"]
		look.Next = "look"
		w.Workflow, w.Nodes["pep"], w.Nodes["look"] = "retail-look", look, workflow.Node{Type: workflow.NodeReview, Label: "Second look", Reason: "Look.", Next: "done"}
		run := b.Start(b.Apply(w).ID, engine.StartRequest{ReferenceID: fmt.Sprintf("MB-%d", 4400+i)}).ID
		b.Submit(run, "details_submitted", map[string]any{"name": fmt.Sprint("Unanswered ", i), "dob": "1977-09-17", "pan": fmt.Sprintf("CDEPK%04dG", i), "mail": "family@example.com"})
		b.add(run, fmt.Sprint("answer ", i), shown{evidence: "#step-registry .head"})
	}
	b.Provider.On("registry", enginetest.Pass(map[string]any{}))
}

// proposals has approvals that a second person confirms.
func (b *bank) proposals() {
	for i := range 3 {
		b.Provider.On("registry", enginetest.Pass(map[string]any{"registered_name": "KUMAR BALAN"}))
		run := b.apply(true, fmt.Sprintf("MB-%d", 4500+i), fmt.Sprint("Proposed Person ", i), fmt.Sprintf("DEFPK%04dG", i), shown{evidence: "tr.differs"})
		if _, err := b.Engine.GiveVerdict(b.t.Context(), enginetest.Tenant, run, rules.GiveVerdict{
			Decision: rules.DecisionApprove, Notes: "Seen in person.", By: "Vikram", Identity: "vikram",
		}, ""); err != nil {
			b.t.Fatal(err)
		}
	}
	b.Provider.On("registry", enginetest.Pass(map[string]any{}))
}

// kept has a run under a hold in the queue, and a restricted and a redacted one beside it.
func (b *bank) kept() {
	asha := verification.Person{Name: "Asha", Identity: "asha"}
	for i := range 3 {
		b.Provider.On("registry", enginetest.Pass(map[string]any{"registered_name": "KUMAR BALAN"}))
		run := b.apply(false, fmt.Sprintf("MB-%d", 4600+i), fmt.Sprint("Kept Person ", i), fmt.Sprintf("EFGPK%04dG", i), shown{evidence: "tr.differs"})
		var err error
		if i > 0 {
			b.GiveVerdict(run, rules.DecisionApprove)
			b.queue = b.queue[:len(b.queue)-1]
		}
		switch i {
		case 0:
			err = b.Engine.HoldRun(b.t.Context(), enginetest.Tenant, run, rules.HoldRun{Reason: "A court asked.", By: "Asha", Identity: "asha"})
		case 1:
			_, err = b.Engine.Restrict(b.t.Context(), enginetest.Tenant, run, "Disputed.", asha)
		case 2:
			_, err = b.Engine.Redact(b.t.Context(), enginetest.Tenant, run, rules.RedactAsked, asha)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// lowest is a script that returns where the lowest of some visible elements ends: Infinity if there is none.
const lowest = `((selector) => Math.max(...(([...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().bottom))), ...(document.querySelector(selector) ? [] : [Infinity])))`

func TestTheCaseIsOnOneScreen(t *testing.T) {
	b := newBank(t)
	t.Logf("%d runs in the queue", len(b.queue))
	for _, size := range [][2]int{{1280, 720}, {1440, 900}} {
		tab := b.tab(reviewerCalled("asha"), browser.Options{Wide: true, Width: size[0], Height: size[1]})
		var low []string
		for _, s := range b.queue {
			b.open(tab, s.run)
			tab.Wait(`[...document.querySelectorAll(".faces img")].every((one) => one.complete)`)
			buttons := "form.decide button[name=decision], form.decide > details > summary"
			if s.hit {
				buttons = ".hit[data-open] button[name=match]"
			}
			ends := browser.Eval[float64](tab, `((hit) => {
				const lowest = `+lowest+`, first = document.querySelector(".hit[data-open]");
				return Math.max(lowest(`+fmt.Sprintf("%q", s.evidence)+`.replaceAll(".hit[data-open]", first ? "#" + first.id : "none")), lowest(`+fmt.Sprintf("%q", buttons)+`.replaceAll(".hit[data-open]", first ? "#" + first.id : "none")));
			})()`)
			tab.ShootWindow(fmt.Sprintf("%s/screen-%d-%s.png", shots, size[0], strings.ReplaceAll(s.name, " ", "-")))
			if ends > float64(size[1]) {
				low = append(low, fmt.Sprintf("%s ends at y = %.0f", s.name, ends))
			}
			if s.past {
				if y := browser.Eval[float64](tab, lowest+`(".past .before")`); y > 200 {
					t.Errorf("%s, %d: the rejection before ends at y = %.0f, want above 200", s.name, size[0], y)
				}
			}
			if s.faces {
				if y := browser.Eval[float64](tab, lowest+`(".faces img")`); y > 600 {
					t.Errorf("%s, %d: the faces end at y = %.0f, want above 600", s.name, size[0], y)
				}
			}
			if s.name == "BIZ-8" {
				if y := browser.Eval[float64](tab, lowest+`(".hits tbody.hit > tr:first-child, .owners tbody tr")`); y > float64(size[1]) {
					t.Errorf("eight owners with six hits end at y = %.0f of %d", y, size[1])
				}
			}
		}
		in := len(b.queue) - len(low)
		t.Logf("%d x %d: the first evidence and its buttons are in view in %d of %d runs", size[0], size[1], in, len(b.queue))
		if in*100 < len(b.queue)*95 {
			t.Errorf("%d x %d: in view in %d of %d, want 95 per cent: %s", size[0], size[1], in, len(b.queue), strings.Join(low, "; "))
		}
	}
	b.rows()
	b.weights()
}

// rows looks at the rows of the queue: each says why, equal ones are about equal facts, and none has a code.
func (b *bank) rows() {
	t, p := b.t, b.as(reviewerCalled("asha"))
	code := regexp.MustCompile(`\b[a-z]+_[a-z_]+\b|\b[a-z]+\.[a-z]{3,}\b|[0-9a-f]{8}-[0-9a-f]{4}|\b(true|false|null)\b|\bOwner \d+ of \d+`)
	seen, n := map[string]string{}, 0
	for page := 1; page < 4; page++ {
		body := p.get(fmt.Sprintf("/queue?page=%d", page)).body
		for _, row := range regexp.MustCompile(`(?s)<tr id="run-([^"]*)">.*?<td class="why">(.*?)</td>`).FindAllStringSubmatch(body, -1) {
			text := strings.Join(strings.Fields(regexp.MustCompile(`<svg.*?</svg>|<[^>]*>`).ReplaceAllString(row[2], " ")), " ")
			n++
			if text == "" {
				t.Errorf("the row of run %s does not say why", row[1])
			}
			if found := code.FindString(text); found != "" {
				t.Errorf("the row of run %s has the code %q: %s", row[1], found, text)
			}
			s := b.queue[max(slices.IndexFunc(b.queue, func(s shown) bool { return string(s.run) == row[1] }), 0)]
			if other, again := seen[text]; again && s.hit {
				t.Errorf("%s and %s have the row %q", other, s.name, text)
			}
			seen[text] = s.name
		}
	}
	if n < len(b.queue) {
		t.Errorf("%d rows were seen of %d", n, len(b.queue))
	}
}

// weights measures pages as they are sent.
func (b *bank) weights() {
	t, p := b.t, b.as(reviewerCalled("asha"))
	size := func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+"/console"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		got, err := p.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		sent, err := io.ReadAll(got.Body)
		if err != nil || got.StatusCode != http.StatusOK {
			t.Fatalf("%s = %d, %v", path, got.StatusCode, err)
		}
		if _, err := gzip.NewReader(strings.NewReader(string(sent))); err != nil {
			t.Errorf("%s is not compressed: %v", path, err)
		}
		return len(sent)
	}
	if n := size("/queue"); n > 20_000 {
		t.Errorf("the queue has %d bytes, want at most 20,000", n)
	} else {
		t.Logf("the queue has %d bytes", n)
	}
	most := slices.MaxFunc(b.queue, func(a, b shown) int { return cmp.Compare(size("/runs/"+string(a.run)), size("/runs/"+string(b.run))) })
	if n := size("/runs/" + string(most.run)); n > 60_000 {
		t.Errorf("%s has %d bytes, want at most 60,000", most.name, n)
	} else {
		t.Logf("the largest page of a run has %d bytes", n)
	}
}

// TestPicturesOfTheDocs takes the pictures in docs for which the bank has the runs; the test of the same name of the host takes the others.
func TestPicturesOfTheDocs(t *testing.T) {
	if os.Getenv(browser.EnvPictures) == "" {
		t.Skip("set " + browser.EnvPictures + " to take the pictures of the docs")
	}
	b, d := newBank(t), serve(t)
	screen := browser.Options{Wide: true, Width: 1280, Height: 720}
	dark := screen
	dark.Dark = true
	take := func(d *desk, o browser.Options, run verification.RunID, at, file string) {
		t.Helper()
		tab := d.tab(reviewerCalled("asha"), o)
		d.open(tab, run)
		browser.Eval[bool](tab, `(document.querySelectorAll("details.passed").forEach((one) => one.open = true), document.querySelector(".to-verdict")?.remove(), document.querySelector("`+at+`").scrollIntoView(), true)`)
		tab.ShootWindow(filepath.Join("..", "..", "docs", "console", file))
	}
	run := func(name string) verification.RunID {
		return b.queue[slices.IndexFunc(b.queue, func(s shown) bool { return s.name == name })].run
	}
	take(b.desk, screen, run("MB-4106 Viktor Zamoyskov"), "body", "run.png")
	take(b.desk, dark, run("MB-4106 Viktor Zamoyskov"), "body", "run-dark.png")
	take(b.desk, screen, run("BIZ-8"), "body", "run-owners.png")
	d.Provider.On("address.utility", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	round := d.owned()
	d.Advance(time.Hour)
	d.again(round)
	d.Advance(30 * time.Minute)
	d.Submit(round, "details_submitted", owners("Acme Trading", "Asha Rao", "Meera Iyer"))
	d.Settle()
	take(d, browser.Options{Wide: true, Width: 832, Height: 1416}, round, "#given", "run-groups.png")
}
