// What a reviewer sees without scrolling, measured in a real browser on a queue of varied runs.

package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
)

// sightWorkflows are workflows beside those of the demo: runs that are started with input, a
// screening that two people decide on, and a review with many values.
var sightWorkflows = map[string]string{
	"partner.yaml": `
workflow: partner
name: Business partner
four_eyes: true
subject: {name: input.name, number: input.registration}
input_schema: {type: object, properties: {name: {type: string, title: Company}, registration: {type: string, title: Registration number}}}
start: screening
nodes:
  screening:
    type: check
    label: Sanctions screening
    provider: offline.screening
    with: {list: fictional, kind: company, name: "${input.name}"}
    next: decide
  decide: {type: branch, rules: [{when: "!steps.screening.data.analysis_ok", next: review}], else: done}
  review: {type: review, label: Compliance, reason: The company may be on a list., next: done, on_reject: refused}
  done: {type: end, outcome: accepted}
  refused: {type: end, outcome: refused}
`,
	"account.yaml": `
workflow: account
name: Account with payments
input_schema:
  type: object
  properties:
    name: {type: string, title: Name}
    holder: {type: string, title: Holder of the account}
    payments: {type: array, title: Payments, items: {type: object, properties: {on: {type: string}, to: {type: string}, amount: {type: number}}}}
start: name
nodes:
  name:
    type: check
    label: Name of the account
    provider: offline.name_match
    with: {name: "${input.name}", other: "${input.holder}"}
    on_failed: next
    next: review
  review: {type: review, label: Payments, reason: The payments need a look., next: done}
  done: {type: end}
`,
}

// sightDesk is a host whose queue has varied runs. Each run needs a verdict for another reason, or
// for the same one with other facts.
type sightDesk struct {
	*served
	runs   int               // in the queue
	starts map[string]string // the URLs that start runs, by the name of the workflow
	people []string          // the ids of the runs of the onboarding that are in the queue
}

// onboard starts a run of the onboarding and sends the answers of its customer.
func (s *sightDesk) onboard(reference, name, dob, pan string) (id string) {
	s.t.Helper()
	r := s.run("POST", s.starts["Individual onboarding"], fmt.Sprintf(`{"reference_id":%q}`, reference))
	s.call("POST", s.api+"/v1/signals/"+r.ID+"/consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.call("POST", s.api+"/v1/signals/"+r.ID+"/details_submitted", fmt.Sprintf(`{"payload":{"name":%q,"dob":%q,"pan":%q}}`, name, dob, pan))
	return r.ID
}

// sightQueue starts the host.
func sightQueue(t *testing.T, keys string) *sightDesk {
	t.Helper()
	vars := demoFile(t, "- individual-onboarding.yaml", "- individual-onboarding.yaml\n      - partner.yaml\n      - account.yaml")
	for name, text := range sightWorkflows {
		if err := os.WriteFile(filepath.Join(filepath.Dir(vars["VERIFYD_BOOTSTRAP"]), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars["VERIFYD_SIGNING_KEY_FILE"] = keys
	s := &sightDesk{served: serveHost(t, vars), starts: map[string]string{}}
	status, raw, _ := s.call("GET", s.api+"/v1/workflows?limit=200", "")
	var list struct{ Data []struct{ ID, Name string } }
	if err := json.Unmarshal(raw, &list); err != nil || status != 200 {
		t.Fatalf("workflows = %d %s", status, raw)
	}
	for _, w := range list.Data {
		s.starts[w.Name] = s.api + "/v1/workflows/" + w.ID + "/runs"
	}
	for i, who := range []struct{ name, dob, pan string }{
		{"Viktor Zamoyskov", "1961-03-14", "ABCPZ4321Z"},
		{"Meera Nair", "1990-02-01", "ABCPK4321K"},
		{"Victor Zamoiskov", "1961-03-14", "ABCPZ4322Z"},
		{"Rohit Khanna", "1988-07-12", "ABCPK4321K"},
		{"Виктор Замойсков", "1961-03-14", "ABCPZ4323Z"},
		{"Anil Sharma", "1979-03-03", "ABCPK4321K"},
		{"Abdulrahman al-Mazrawi", "1974-07-02", "ABCPM4321Z"},
		{"रमेश गुप्ता", "1988-07-12", "ABCPK4321K"},
		{"عبد الرحمن المزروي", "1974-07-02", "ABCPM4322Z"},
		{"Sunita Devi", "1985-10-10", "ZZZPS1234F"},
		{"Zheng Haolin", "1980-05-05", "ABCPH4321Z"},
		{"José Martínez", "1992-12-12", "ZZZPM1234F"},
		{"राजवीर मल्होत्रा सेनापति", "1969-11-30", "ABCPS4321Z"},
		{"Nguyễn Văn An", "1995-05-05", "ZZZPN1234F"},
		{"Rajveer Senapati", "1969-11-30", "ABCPS4322Z"},
		{"Priya Iyer", "2001-01-20", "ZZZPI1234F"},
		{"Esteban Ruiz", "1958-01-09", "ABCPR4321Z"},
		{"Arjun Mehta", "1983-08-08", "ABCCM1234F"},
		{"Grigory Sokolnitsky", "1966-05-21", "ABCPG4321Z"},
		{"Kavita Rao", "1991-09-19", "ABCFR1234F"},
		{"Nasrin Vaziri", "1977-09-17", "ABCPV4321Z"},
		{"Lakshmi Narayanan Venkataraghavan Subramaniam", "1970-01-01", "ABCHL1234F"},
		{"Marcel Okonjo", "1983-01-01", "ABCPO4321Z"},
		{"Lee Sang Woo", "1970-12-05", "ABCPL4321Z"},
		{"Henrique Vasques", "1964-06-13", "ABCPQ4321Z"},
		{"Eleni Karamanolaki", "1990-04-04", "ABCPE4321Z"},
	} {
		s.people = append(s.people, s.onboard(fmt.Sprintf("CUST-2026%04d", i), who.name, who.dob, who.pan))
		s.runs++
	}
	for _, id := range s.people { // the registry reports a second later
		s.await(id, func(r runJSON) bool { return r.Decision != nil && *r.Decision == "review" })
	}
	for i := range 4 {
		r := s.run("POST", s.starts["Individual onboarding"], fmt.Sprintf(`{"reference_id":"NO-%d"}`, i))
		s.call("POST", s.api+"/v1/signals/"+r.ID+"/consent_submitted", `{"payload":{"consent_status":"declined"}}`)
		s.runs++
	}
	for i, name := range []string{"Severny Almaz Torgovy Dom", "Golden Peregrine Shipping Limited", "Al Wadi al Akhdar General Trading", "丹东浩源金属有限公司", "Petroleos Tierra Alta", "Meridian Quill Partners"} {
		s.run("POST", s.starts["Business partner"], fmt.Sprintf(`{"reference_id":"PARTNER-%d","input":{"name":%q,"registration":"U7%04dMH2020"}}`, i, name, i))
		s.runs++
	}
	for i, holder := range []string{"Kumar Ravi", "Asha R. Rao", "Ashok Rao", "Usha Raol", "Asha Rao (Minor)", "A. S. Rao"} {
		var payments []string
		for day := range 30 * i {
			payments = append(payments, fmt.Sprintf(`{"on":"2026-%02d-%02d","to":"Merchant %d","amount":%d.5}`, 1+day/28%12, 1+day%28, day, 100+day))
		}
		s.run("POST", s.starts["Account with payments"], fmt.Sprintf(`{"reference_id":"ACC-%d","input":{"name":"Asha Rao","holder":%q,"payments":[%s]}}`, i, holder, strings.Join(payments, ",")))
		s.runs++
	}
	return s
}

// reviewerTab opens a tab of a reviewer.
func (s *served) reviewerTab(issuer *reviewer.Issuer, o browser.Options) *browser.Tab {
	s.t.Helper()
	raw, err := issuer.IssueSignInLink(verification.Reviewer{Tenant: demoTenant, Name: "asha", Role: verification.RoleReviewer}, time.Hour, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	tab := browser.Start(s.t).Open(s.t, o)
	tab.Go(s.api + "/console/sign-in/link/" + raw)
	tab.Press("main button")
	tab.See(".person")
	return tab
}

// sight is what the page of a run shows on a screen of 1440 x 900.
type sight struct {
	Reference string
	Evidence  bool // something of the evidence is in sight without scrolling
	Together  bool // what the customer claims and the evidence fit on one screen
	Linked    bool // each reason leads to its evidence
	Top       int  // of the evidence
}

// measureSight measures a run page. Evidence is what does not match, and the steps that need a
// look; a run without either needs a verdict for what was sent: then it is that.
const measureSight = `(() => {
  const box = (e) => { const r = e.getBoundingClientRect(); return {top: r.top + scrollY, bottom: r.bottom + scrollY}; };
  const shown = (e) => e && e.checkVisibility();
  const evidence = [...document.querySelectorAll(".sources tbody tr.differs, [aria-labelledby=problems] .step, .sources, [aria-labelledby=given] .step, [aria-labelledby=passed] details")].filter(shown);
  const first = evidence.map(box).sort((a, b) => a.top - b.top)[0];
  const claim = box(document.querySelector(".subject"));
  const reasons = [...document.querySelectorAll(".flags li")];
  const seen = 160; // pixels of the evidence that say what it is
  return {
    reference: document.title.split(" – ")[0],
    evidence: !!first && first.top + Math.min(first.bottom - first.top, seen) <= innerHeight,
    together: !!first && first.top + Math.min(first.bottom - first.top, seen) - claim.top <= innerHeight,
    linked: reasons.every((li) => { const a = li.querySelector("a"); return a && shown(document.querySelector(a.getAttribute("href"))); }),
    top: first ? Math.round(first.top) : -1,
  };
})()`

func TestTheEvidenceIsInSight(t *testing.T) {
	keys, issuer := keyFile(t)
	s := sightQueue(t, keys)
	if s.runs < 40 {
		t.Fatalf("%d runs, want at least 40", s.runs)
	}
	tab := s.reviewerTab(issuer, browser.Options{Wide: true, Width: 1440})
	tab.Go(s.api + "/console/queue")
	tab.Wait(fmt.Sprintf(`document.querySelector(".tabs .count").textContent === "%d"`, s.runs))
	links := browser.Eval[[]string](tab, `[...document.querySelectorAll("[data-row]")].map((a) => a.href)`)
	var total, evidence, together, linked int
	for _, link := range links {
		tab.Go(link)
		tab.See(".subject")
		got := browser.Eval[sight](tab, measureSight)
		total++
		for _, m := range []struct {
			is bool
			n  *int
		}{{got.Evidence, &evidence}, {got.Together, &together}, {got.Linked, &linked}} {
			if m.is {
				*m.n++
			}
		}
		if !got.Evidence || !got.Together || !got.Linked {
			t.Logf("%+v", got)
		}
	}
	t.Logf("of %d runs: evidence in sight %d, with what the customer claims %d, each reason linked %d", total, evidence, together, linked)
	if total != s.runs || evidence*10 < total*9 || together*10 < total*9 || linked != total {
		t.Errorf("want all %d runs, nine of ten with the evidence in sight and beside the claim, and each reason linked", s.runs)
	}
}
