// Tests of whole runs that screen the nationality of a travel document.

package screening_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// documentFlow is a workflow that screens with the countries that stand for @.
const documentFlow = `
workflow: documents
name: Documents
start: doc
nodes:
  doc: {type: check, provider: offline.mrz, with: {mrz: "${input.mrz}"}, next: screen}
  screen:
    type: check
    provider: offline.screening
    with: {list: l, kind: person, name: "${steps.doc.data.given_names} ${steps.doc.data.surname}", countries: [@]}
    next: done
  done: {type: end}
`

func documentWorkflow(t *testing.T, countries string) workflow.Definition {
	t.Helper()
	doc, err := definition.ReadWorkflow("documents.yaml", []byte(strings.ReplaceAll(documentFlow, "@", countries)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Definition
}

// documentKit returns a kit whose list has one entry. Its provider of screening is changed by
// wrap.
func documentKit(t *testing.T, wrap func(verification.Provider) verification.Provider) *enginetest.Kit {
	t.Helper()
	list := watchlist.ListOf(watchlist.Entry{ID: "e-1", Name: "Viktor Zamoyskov", Person: true, Countries: []string{"de"}})
	return enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["offline.mrz"] = offline.Checks()["offline.mrz"]
		p.Providers[screening.ProviderName] = wrap(screening.NewProvider(watchlist.ListsOf("l", list), time.Now))
	})
}

func asItIs(p verification.Provider) verification.Provider { return p }

// bare is a provider that does not describe itself, as all were before it did.
type bare struct{ verification.Provider }

// passportOf returns a zone whose holder has a nationality.
func passportOf(nationality string) engine.StartRequest {
	filled := (nationality + "<<")[:3]
	input, err := verification.NewData(map[string]any{
		"mrz": "P<" + filled + "MUSTER<<ERIKA<<<<<<<<<<<<<<<<<<<<<<<<<<\nC01X00T478" + filled + "6408125F3001019<<<<<<<<<<<<<<06",
	})
	if err != nil {
		panic(err)
	}
	return engine.StartRequest{ReferenceID: "of " + nationality, Input: input}
}

// stateCodes returns the alpha-3 codes of ISO 3166-1 and 3166-3, and those of ICAO Doc 9303-3,
// section 5.
func stateCodes(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../../../internal/country/testdata/iso_3166.tsv")
	if err != nil {
		t.Fatal(err)
	}
	codes := strings.Fields("D RKS GBD GBN GBO GBP GBS EUE UNO UNA UNK XBA XIM XCC XCE XCO XEC XPO XES XMP XOM XDC XXA XXB XXC XXX UTO ROM")
	for line := range strings.Lines(string(raw)) {
		if columns := strings.Split(line, "\t"); len(columns) > 3 {
			codes = append(codes, columns[2])
		}
	}
	if len(codes) < 28+249+31 {
		t.Fatalf("there are %d codes", len(codes))
	}
	return codes
}

func TestEveryNationalityOfADocumentIsScreened(t *testing.T) {
	kit := documentKit(t, asItIs)
	workflow := kit.Apply(documentWorkflow(t, `"${steps.doc.data.nationality}"`))
	for _, code := range stateCodes(t) {
		run := kit.Start(workflow.ID, passportOf(code))
		if run.Status != rules.StatusCompleted || run.Decision != "" || len(run.Flags) > 0 {
			t.Errorf("nationality %s: %s, decision %q, error %v, %v", code, run.Status, run.Decision, run.Error, run.Flags)
		}
	}
}

func TestAnUnknownNationalityIsFlagged(t *testing.T) {
	kit := documentKit(t, asItIs)
	workflow := kit.Apply(documentWorkflow(t, `"${steps.doc.data.nationality}"`))
	for _, code := range []string{"QQQ", "XCT", "ZZZ"} {
		run := kit.Start(workflow.ID, passportOf(code))
		if run.Status != rules.StatusCompleted || run.Decision != rules.DecisionReview || len(run.Flags) != 1 {
			t.Errorf("nationality %s: %s, decision %q, error %v, %v", code, run.Status, run.Decision, run.Error, run.Flags)
			continue
		}
		c := run.Checks[1]
		if data := c.Data.Map(); c.Status != rules.StepPassed || data["source_ok"] != true || data["analysis_ok"] != false || data["not_compared"] == nil {
			t.Errorf("nationality %s: the check is %s with %s", code, c.Status, c.Data)
		}
	}
}

func TestAnUnknownCountryCannotBePublished(t *testing.T) {
	kit := documentKit(t, asItIs)
	_, err := kit.Engine.Apply(context.Background(), enginetest.Tenant, documentWorkflow(t, `Indja`))
	var invalid *verification.Error
	const want = "must be a country: its name or its code, such as India, IN, IND or 356; did you mean India?"
	if !errors.Is(err, verification.ErrInvalid) || !errors.As(err, &invalid) || len(invalid.Fields) != 1 ||
		invalid.Fields[0].Name != "nodes.screen.with.countries[0]" || invalid.Fields[0].Message != want {
		t.Errorf("a country Indja: %v, want the problem that it %s", err, want)
	}
}

func TestAPublishedUnknownCountryIsFlagged(t *testing.T) {
	kit := documentKit(t, func(p verification.Provider) verification.Provider { return bare{p} })
	workflow := kit.Apply(documentWorkflow(t, `Indja`))
	run := kit.Start(workflow.ID, passportOf("IND"))
	if run.Status != rules.StatusCompleted || run.Decision != rules.DecisionReview {
		t.Errorf("a version with a country Indja: %s, decision %q, error %v", run.Status, run.Decision, run.Error)
	}
}
