package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestACorrectionStandsBesideItsValue(t *testing.T) {
	const found = `{"name":"ASHA","owners":[{"full.name":"R"}],"source_ok":false}`
	j := begin(t, flows.DeskFlow(), `{"name":"Asha"}`).submit(consents).result(verification.OutcomePassed, found)
	before, seen := j.report(), j.detail().Seq
	by := func(c rules.Correct) rules.Correct {
		c.By, c.Identity = "Ravi", "ravi"
		return c
	}
	for _, c := range []rules.Correct{
		{Node: "pan", Field: "name", Correction: "Asha Rao"},
		{Node: "pan", Field: "owners[0].full.name", Correction: "Ravi"},
		{Node: "pan", Field: "owners", Correction: "there are two"},
		{Field: "name", Correction: "Asha Rao"},
	} {
		j.do(by(c))
	}
	if after := j.report(); after.Decision != before.Decision || len(after.Flags) != len(before.Flags) || after.Summary != before.Summary {
		t.Errorf("the report reads %+v, before %+v", after, before)
	}
	said := func(r rules.Report) (all []string) {
		for _, c := range append(r.Cards[1].Corrections, r.InputCorrections...) {
			all = append(all, c.Field+": "+c.Text+" ("+c.By+")")
		}
		return all
	}
	want := []string{"name: Asha Rao (Ravi)", "owners[0].full.name: Ravi (Ravi)", "owners: there are two (Ravi)", "name: Asha Rao (Ravi)"}
	equal(t, "the corrections", said(j.report()), want)
	for _, line := range said(rules.MakePrint(j.run.ID, j.history, j.now)) {
		if strings.Contains(line, "(Ravi)") {
			t.Errorf("the report for the customer names the reviewer: %s", line)
		}
	}
	if data := j.report().Cards[1].Data.String(); data != found {
		t.Errorf("the data is now %s", data)
	}
	repeated := rules.Correct{Field: "name", Correction: "Asha R. Rao", Request: "once"}
	for _, c := range []rules.Correct{{Node: "pan", Field: "name", Correction: "Asha Rao"}, repeated, {Field: "name", Correction: "Asha Rao"}, repeated} {
		j.do(by(c))
	}
	if got := len(j.report().InputCorrections) + len(j.report().Cards[1].Corrections); got != 6 {
		t.Errorf("%d corrections, want 6: the same words, and the same request, are recorded once", got)
	}
	j.do(rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha", Identity: "asha", Seq: seen})
	if j.redacted(); len(said(j.report())) > 0 {
		t.Errorf("after the redaction the report has %q", said(j.report()))
	}
}

func TestACorrectionIsOfAValueThatThereIs(t *testing.T) {
	const found = `{"name":"ASHA","owners":[{"name":"R"}],"":1}`
	j := begin(t, flows.DeskFlow(), `{"name":"Asha"}`).submit(consents).result(verification.OutcomePassed, found)
	for _, row := range []struct {
		node               verification.NodeID
		field, text, asked string
		want               string
	}{
		{"pan", "name", " ", "a", "correction: invalid: correction: is required"},
		{"pan", "name", strings.Repeat("ä", 1001), "a", "correction: invalid: correction: must be at most 1000 characters"},
		{"pan", "name", "\x00", "a", "correction: invalid: correction: must be valid UTF-8 without a NUL character"},
		{"pan", "name", "x", "", "correction: invalid: identity: is required"},
		{"gate", "name", "x", "a", "correction: invalid: node: the run has no such step"},
		{"pan", "", "x", "a", "correction: invalid: field: is required"},
		{"pan", "names", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners[1]", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners[00]", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners[-1]", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners[0", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners[0]name", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "owners.name", "x", "a", "correction: invalid: field: there is no such value"},
		{"pan", "name.x", "x", "a", "correction: invalid: field: there is no such value"},
		{"", "owners", "x", "a", "correction: invalid: field: there is no such value"},
	} {
		_, err := j.try(rules.Correct{Node: row.node, Field: row.field, Correction: row.text, Identity: row.asked})
		if got := fmt.Sprint(err); got != row.want {
			t.Errorf("%s %q: %s, want %s", row.node, row.field, got, row.want)
		}
	}
}
