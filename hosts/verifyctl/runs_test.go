package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
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
