package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestEarlierVisitsHaveRowsBelowTheirCard(t *testing.T) {
	card := apitypes.Card{
		NodeID: "list", Type: "check", Status: "needs_review", Reason: "On an earlier visit, ...", Dispatches: 4,
		Visits:        []apitypes.CardVisit{{Visit: 1, Status: "needs_review", Reason: "A hit.", Dispatches: 1}, {Visit: 3, Status: "ok", Dispatches: 1}},
		VisitsOmitted: 1,
	}
	var rows [][3]string
	for _, row := range cardRows(card) {
		rows = append(rows, [3]string{row[0], row[2], row[len(row)-1]})
	}
	want := [][3]string{
		{"list", "needs_review", "On an earlier visit, ..."},
		{"list, visit 1", "needs_review", "A hit."},
		{"list, visit 3", "ok", ""},
		{"list, visits left out: 1", "", ""},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRunShowSaysWhoWasNotScreened(t *testing.T) {
	var stdout, stderr bytes.Buffer
	shown := shownRun{Report: apitypes.Report{Unscreened: []rules.Unscreened{{NodeID: "owner[2].lists", Label: "Owner 2 of 2: Lists", Why: "decided"}}}}
	s := bare(&stdout, &stderr)
	if err := shown.print(&s, nil, false); err != nil {
		t.Fatal(err)
	}
	const want = "owner[2].lists  Owner 2 of 2: Lists  Nobody was screened: the group was decided before this check was called."
	if got := stdout.String(); !strings.Contains(got, want) {
		t.Errorf("run show prints\n%s, want\n%s", got, want)
	}
}
