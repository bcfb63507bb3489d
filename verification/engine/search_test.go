// Tests of the search for people.

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// searching gives an engine a search key.
func searching(_ *engine.Ports, o *engine.Options) {
	o.SearchKey = []byte(strings.Repeat("k", 32))
}

// deskOf returns the desk of a test kit.
func deskOf(k *enginetest.Kit) *desk.Desk {
	return desk.New(k.Engine, k.Store, k.Clock.Now, slog.New(slog.DiscardHandler))
}

// findable asks for everything by which a run is found, and has a name in its input.
func findable() workflow.Definition {
	return workflow.Definition{
		Workflow: "findable", Name: "Findable", Start: "form",
		InputSchema: verification.Data(`{"properties":{"holder":{"type":"string","x-search":true},"account":{"type":"integer","x-search":true},"note":{"type":"string"}}}`),
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				{Name: "given", Type: workflow.FieldText, Search: true},
				{Name: "family", Type: workflow.FieldText, Search: true},
				{Name: "born", Type: workflow.FieldDate, Search: true},
				{Name: "pan", Type: workflow.FieldText, Search: true},
				{Name: "mail", Type: workflow.FieldEmail, Search: true},
				{Name: "phone", Type: workflow.FieldPhone, Search: true},
				{Name: "city", Type: workflow.FieldText},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// answered starts a run of findable and answers its form.
func answered(k *enginetest.Kit, reference, input, answer string) verification.RunID {
	w := k.Apply(findable())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: reference, Input: verification.Data(input)})
	if answer != "" {
		k.Submit(run.ID, "form_submitted", verification.Data(answer).Map())
	}
	return run.ID
}

// found returns the runs that a tenant finds with a text.
func found(ctx context.Context, t rapid.TB, k *enginetest.Kit, tenant verification.TenantID, text string) (ids []verification.RunID) {
	keys := k.Engine.SearchKeys(tenant, facts.ParseSearch(text))
	if len(keys) == 0 {
		t.Fatalf("no keys of %q", text)
	}
	p, _, err := k.Engine.RunSummaries(ctx, tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 50}, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Data {
		ids = append(ids, s.ID)
	}
	return ids
}

const ashasAnswer = `{"given":"Áshā","family":"Rao-Iyer","born":"1990-04-12","pan":"ABCDE1234F","mail":"Asha@Example.com","phone":"+91 98123 45678","city":"Pune"}`

func TestARunIsFoundByAnyOfItsWords(t *testing.T) {
	var log bytes.Buffer
	k := enginetest.New(t, searching, func(_ *engine.Ports, o *engine.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	asha := answered(k, "one", `{"holder":"Meera Devi","account":98765432109,"note":"secret"}`, ashasAnswer)
	ravi := answered(k, "two", `{"holder":"Meera Nair"}`, `{"given":"Ravi","family":"Rao"}`)
	for text, want := range map[string][]verification.RunID{
		"asha": {asha}, "RAO": {ravi, asha}, "iyer asha": {asha}, "Asha Rao 1990-04-12": {asha}, "ravi 1990-04-12": nil, "asha ravi": nil,
		"meera": {ravi, asha}, "devi": {asha}, "98765432109": {asha}, "987 654 321 09": {asha},
		"abcde1234f": {asha}, "ABCDE-1234-F": {asha}, "asha@example.com": {asha}, "919812345678": {asha}, "0091 98123 45678": {asha},
		"secret": nil, "pune": nil, "ash": nil, "one": nil,
	} {
		if diff := cmp.Diff(want, found(t.Context(), t, k, enginetest.Tenant, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if got := found(t.Context(), t, k, "00000000-0000-7000-8000-0000000000bb", text); got != nil {
			t.Errorf("another tenant finds %v with %q", got, text)
		}
	}
	for _, word := range []string{"asha", "Áshā", "ABCDE1234F", "Meera", "98123"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log has %q", word)
		}
	}
}

func TestAPhoneNumberIsFoundWithoutItsCountry(t *testing.T) {
	k := enginetest.New(t, searching)
	ids := map[string]verification.RunID{}
	for _, phone := range []string{"+91 98200 12345", "0044 (0) 20 7946 0018", "+39 06 1234 5678", "98200 12345"} {
		ids[phone] = answered(k, phone, "", string(verification.DataOf(map[string]any{"phone": phone})))
	}
	india, britain, italy, nowhere := ids["+91 98200 12345"], ids["0044 (0) 20 7946 0018"], ids["+39 06 1234 5678"], ids["98200 12345"]
	for text, want := range map[string][]verification.RunID{
		"98200 12345": {nowhere, india}, "098200-12345": {india}, "+91 98200 12345": {india}, "+91 (0) 98200 12345": {india}, "९८२०० १२३४५": {nowhere, india},
		"(020) 7946 0018": {britain}, "20 7946 0018": {britain}, "+44 20 7946 0018": {britain}, "+44 (0)20 79460018": {britain},
		"06 1234 5678": {italy}, "+39 06 1234 5678": {italy}, "6 1234 5678": nil, "200 12345": nil, "+44 98200 12345": nil,
	} {
		if diff := cmp.Diff(want, found(t.Context(), t, k, enginetest.Tenant, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEveryCallingCodeIsTakenOff(t *testing.T) {
	k := enginetest.New(t, searching)
	n := 5_550_000
	for code := range phonenumbers.GetSupportedCallingCodes() {
		n++
		id := answered(k, fmt.Sprint(n), "", fmt.Sprintf(`{"phone":"+%d %d"}`, code, n))
		if got := found(t.Context(), t, k, enginetest.Tenant, fmt.Sprint(n)); !slices.Equal(got, []verification.RunID{id}) {
			t.Errorf("%d finds %v, want the run with +%d in front", n, got, code)
		}
	}
	if n < 5_550_200 {
		t.Errorf("%d calling codes, want all", n-5_550_000)
	}
}

func TestNumbersOfTwoCountriesAreNotTheSame(t *testing.T) {
	k := enginetest.New(t, searching)
	phone := func(number string) verification.RunID {
		return answered(k, number, "", fmt.Sprintf(`{"phone":%q}`, number))
	}
	india, again, britain, local := phone("+91 98200 12345"), phone("0091 (98200) 12345"), phone("+44 98200 12345"), phone("98200 12345")
	here, card := phone("98200-12345"), answered(k, "card", `{"account":9820012345}`, `{"pan":"098200 12345"}`)
	for id, want := range map[verification.RunID]map[verification.RunID][]desk.Relation{
		india: {again: {desk.SamePhone}}, britain: {}, local: {here: {desk.SamePhone}, card: {desk.SamePhone}},
		card: {local: {desk.SameNumber}, here: {desk.SameNumber}},
	} {
		r, err := deskOf(k).RunRecord(t.Context(), enginetest.Tenant, id, false)
		if err != nil {
			t.Fatal(err)
		}
		related, err := deskOf(k).RelatedRuns(t.Context(), enginetest.Tenant, r)
		if err != nil {
			t.Fatal(err)
		}
		got := map[verification.RunID][]desk.Relation{}
		for _, run := range related.Runs {
			got[run.ID] = run.Same
		}
		if diff := cmp.Diff(want, got); diff != "" || related.Total != len(want) {
			t.Errorf("%s has %d related runs (-want +got):\n%s", r.Report.Run.ReferenceID, related.Total, diff)
		}
	}
}

func TestASearchFindsEveryWordOfARun(t *testing.T) {
	k := enginetest.New(t, searching)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		names := rapid.SliceOfN(rapid.StringMatching(`[\p{Latin}\p{Devanagari}]{3,12}`), 1, 5).Draw(rt, "names")
		whole := strings.Join(names, " ")
		id := answered(k, fmt.Sprint(n), "", string(verification.DataOf(map[string]any{"given": whole})))
		if strings.ContainsFunc(whole, unicode.IsDigit) { // parts with a digit are one number, which is found as a whole
			names = []string{whole}
		}
		for _, text := range append(names, whole) {
			if len(k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch(text))) > 0 && !slices.Contains(found(t.Context(), rt, k, enginetest.Tenant, text), id) {
				rt.Fatalf("%q does not find a run of %q", text, whole)
			}
		}
	})
}

func TestOnlySearchedWorkflowsHaveKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		changes    []enginetest.Change
		definition workflow.Definition
		want       []int // the number of keys of each append; -1 if they stay
	}{
		"search":                    {[]enginetest.Change{searching}, findable(), []int{2, 15}},
		"no key":                    {nil, findable(), []int{-1, -1}},
		"a workflow without search": {[]enginetest.Change{searching}, wordless(), []int{-1, -1}},
	} {
		k, runs := withRuns(t, tc.changes...)
		run := k.Start(k.Apply(tc.definition).ID, engine.StartRequest{ReferenceID: "one", Input: verification.Data(`{"holder":"Meera Devi"}`)})
		k.Submit(run.ID, "form_submitted", verification.Data(ashasAnswer).Map())
		var got []int
		for _, call := range runs.AppendCalls() {
			n := len(call.C.Keys)
			if call.C.Keys == nil {
				n = -1
			}
			got = append(got, n)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: the appends have %v keys, want %v", name, got, tc.want)
		}
	}
	k, other := enginetest.New(t, searching), enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.SearchKey = []byte(strings.Repeat("x", 32)) })
	keys := slices.Concat(
		k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("12345678")), k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("asha")), other.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("asha")),
		k.Engine.SearchKeys("00000000-0000-7000-8000-0000000000bb", facts.ParseSearch("asha")),
	)
	var known []store.SearchKey
	for _, choice := range keys {
		if key := choice[0]; len(choice) != 1 || slices.Contains(known, key) || bytes.Contains(key[:], []byte("asha")) {
			t.Errorf("the key %x is not of one word, tenant and search key only", choice)
		}
		known = append(known, choice[0])
	}
	k = enginetest.New(t)
	if keys := k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch("asha")); keys != nil || k.Engine.Searches() {
		t.Errorf("without a key, a search has the keys %v", keys)
	}
}

func TestAShortSearchKeyIsRefused(t *testing.T) {
	var ports engine.Ports
	enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { ports = *p })
	if _, err := engine.New(ports, engine.Options{SearchKey: make([]byte, 31)}); err == nil || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("an engine with a short search key: %v, want it to be refused", err)
	}
}

func TestEveryProblemOfSearchedInput(t *testing.T) {
	const (
		types     = "is for properties of the types string, number and integer"
		misplaced = "x-search is only for the properties of the input itself"
	)
	k := enginetest.New(t)
	for schema, want := range map[string]verification.FieldError{
		`{"properties":{"a":{"type":"string","x-search":false}}}`:                     {Name: `input_schema.properties.a["x-search"]`, Message: "must be true"},
		`{"properties":{"a":{"type":"object","x-search":true}}}`:                      {Name: `input_schema.properties.a["x-search"]`, Message: types},
		`{"properties":{"a":{"x-search":true}}}`:                                      {Name: `input_schema.properties.a["x-search"]`, Message: types},
		`{"properties":{"A":{"properties":{"b":{"type":"string","x-search":true}}}}}`: {Name: `input_schema.properties["A"]`, Message: misplaced},
		`{"$defs":{"a":{"type":"string","x-search":true}}}`:                           {Name: `input_schema["$defs"]`, Message: misplaced},
		`{"anyOf":[{"properties":{"a":{"type":"string","x-search":true}}}]}`:          {Name: `input_schema["anyOf"]`, Message: misplaced},
		`{"x-search":true}`: {Name: `input_schema["x-search"]`, Message: misplaced},
		`{"properties":{"x-search":{"type":"string","default":{"x-search":1},"x-search":true}}}`: {},
	} {
		d := findable()
		d.InputSchema = verification.Data(schema)
		_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
		var invalid *verification.Error
		if !errors.As(err, &invalid) {
			invalid = &verification.Error{Fields: []verification.FieldError{{}}}
		}
		if diff := cmp.Diff([]verification.FieldError{want}, invalid.Fields); diff != "" {
			t.Errorf("problems of %s (-want +got):\n%s", schema, diff)
		}
	}
}

func TestRelatedRunsSayWhatIsTheSame(t *testing.T) {
	k := enginetest.New(t, searching)
	start := func(reference, answer string) verification.RunID {
		k.Advance(time.Minute)
		return answered(k, reference, "", answer)
	}
	start("a", `{"given":"Asha","family":"Rao","born":"1990-04-13"}`) // another person
	person := start("b", `{"given":"Rao Iyer","family":"asha","born":"1990-04-12"}`)
	phone := start("c", `{"given":"Meera","phone":"0091 98123 45678"}`)
	mail := start("d", `{"given":"Meera","mail":"asha@example.com"}`)
	number := start("e", `{"given":"Meera","pan":"abcde-1234-f"}`)
	asha := start("f", ashasAnswer)
	again := start("f", ashasAnswer)
	waiting := start("f", "")
	related := func(id verification.RunID) (desk.RelatedRuns, map[verification.RunID][]desk.Relation) {
		t.Helper()
		r, err := deskOf(k).RunRecord(t.Context(), enginetest.Tenant, id, false)
		if err != nil {
			t.Fatal(err)
		}
		found, err := deskOf(k).RelatedRuns(t.Context(), enginetest.Tenant, r)
		if err != nil {
			t.Fatal(err)
		}
		same := map[verification.RunID][]desk.Relation{}
		for _, run := range found.Runs {
			same[run.ID] = run.Same
		}
		return found, same
	}
	found, same := related(asha)
	want := map[verification.RunID][]desk.Relation{
		person: {desk.SamePerson}, phone: {desk.SamePhone}, mail: {desk.SameMail}, number: {desk.SameNumber},
		again:   {desk.SameReference, desk.SameNumber, desk.SameMail, desk.SamePhone, desk.SamePerson},
		waiting: {desk.SameReference},
	}
	if diff := cmp.Diff(want, same); diff != "" || found.Total != 6 || found.AtLeast || found.Runs[0].ID != waiting {
		t.Errorf("%d related runs, or more: %t, the first is %s (-want +got):\n%s", found.Total, found.AtLeast, found.Runs[0].ID, diff)
	}
	ids := func(found desk.RelatedRuns) (all []verification.RunID) {
		for _, run := range found.Runs {
			all = append(all, run.ID)
		}
		return all
	}
	if diff := cmp.Diff([]verification.RunID{waiting, again, number, person, phone, mail}, ids(found)); diff != "" {
		t.Errorf("the strongest relation is not first (-want +got):\n%s", diff)
	}
	for range 12 { // newer, and with less in common
		start("g", `{"given":"Meera","mail":"asha@example.com"}`)
	}
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, person, rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "No."}, ""); err != nil {
		t.Fatal(err)
	}
	found, _ = related(asha)
	if diff := cmp.Diff([]verification.RunID{person, waiting, again, number, phone}, ids(found)[:5]); diff != "" {
		t.Errorf("the rejected run, and then the strongest relation, is not first (-want +got):\n%s", diff)
	}
	for range 12 {
		start("f", "")
	}
	if found, _ := related(asha); found.Total != 26 || !found.AtLeast || len(found.Runs) != 10 {
		t.Errorf("%d of %d related runs, or more: %t; want 10 of at least 26", len(found.Runs), found.Total, found.AtLeast)
	}
}

// ownedFlow checks each owner of the input, and asks a reviewer.
func ownedFlow() workflow.Definition {
	return workflow.Definition{
		Workflow: "owned", Name: "Owned", Start: "owners", Nodes: map[verification.NodeID]workflow.Node{
			"owners": {
				Type: workflow.NodeCheck, Label: "Owner", Provider: "script", ForEach: "input.owners", OnFailed: workflow.TargetNext, OnUnavailable: workflow.TargetNext,
				Next: "look", Element: &workflow.ElementFields{Name: "item.name", BirthDate: "item.dob"},
			},
			"look": {Type: workflow.NodeReview, Label: "Look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func TestARunIsFoundByWhoItsElementsAre(t *testing.T) {
	k := enginetest.New(t, searching)
	k.Provider.On("owners", enginetest.Pass(nil), enginetest.Fail(nil))
	start := func(reference, owners string) verification.RunID {
		k.Advance(time.Minute)
		run := k.Start(k.Apply(ownedFlow()).ID, engine.StartRequest{ReferenceID: reference, Input: verification.Data(`{"owners":` + owners + `}`)})
		k.Settle()
		return run.ID
	}
	person := answered(k, "person", "", `{"given":"Victor","family":"Zamoyskov","born":"1961-03-14"}`)
	one := start("one", `[{"name":"Asha Rao","dob":"1980-04-01"},{"name":"Victor Zamoyskov","dob":"1961-03-14"}]`)
	two := start("two", `[{"name":"ZAMOYSKOV, Victor","dob":"1961-03-14"},{"name":"Asha Rao","dob":"1999-04-01"}]`)
	k.Settle()
	finds := func(text string, want ...verification.RunID) {
		t.Helper()
		if diff := cmp.Diff(want, found(t.Context(), t, k, enginetest.Tenant, text)); diff != "" {
			t.Errorf("%q finds (-want +got):\n%s", text, diff)
		}
	}
	finds("zamoyskov 1961-03-14", two, one, person)
	finds("Asha Rao", two, one)
	r, err := deskOf(k).RunRecord(t.Context(), enginetest.Tenant, one, false)
	if err != nil {
		t.Fatal(err)
	}
	related, err := deskOf(k).RelatedRuns(t.Context(), enginetest.Tenant, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []verification.RunID{two, person} {
		if got := related.Runs[i]; got.ID != want || !slices.Equal(got.Same, []desk.Relation{desk.SameElement}) || got.Elements[0].Name != "Victor Zamoyskov" {
			t.Errorf("related run %d = %+v, want %s with Victor Zamoyskov alone", i, got, want)
		}
	}
	if related.Total != 2 {
		t.Errorf("%d related runs, want 2: the other Asha Rao was born on another day", related.Total)
	}
	for _, id := range []verification.RunID{one, two} {
		if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, id, rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "No."}, ""); err != nil {
			t.Fatal(err)
		}
	}
	k.Settle()
	restrict(t, k, two)
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, one, rules.RedactAsked, eraser); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	finds("zamoyskov 1961-03-14", person)
	for _, id := range []verification.RunID{one, two} {
		if r, err := deskOf(k).RunRecord(t.Context(), enginetest.Tenant, id, false); err != nil || strings.Contains(fmt.Sprintf("%+v", r), "amoyskov") {
			t.Errorf("the record of %s has the name of an owner, %v: %+v", id, err, r)
		}
	}
	lift(t, k, two)
	finds("zamoyskov 1961-03-14", two, person)
}

func wordless() workflow.Definition {
	d := findable()
	d.InputSchema = nil
	form := d.Nodes["form"]
	form.Fields = slices.Clone(form.Fields)
	for i := range form.Fields {
		form.Fields[i].Search = false
	}
	d.Nodes["form"] = form
	return d
}
