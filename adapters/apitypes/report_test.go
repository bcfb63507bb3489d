package apitypes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification/rules"
)

// For a client an answer counts, and a flag of it stands in reviews.
func TestTheGroupsOfTheAPICountFlaggedAnswers(t *testing.T) {
	raw, err := json.Marshal(apitypes.NewReport(rules.Report{Groups: []rules.ReportGroup{{
		NodeID: "lists", Status: rules.GroupFlagged, Members: []rules.GroupMember{
			{NodeID: "lists.a", Answer: rules.AnswerFlagged, Hits: 2}, {NodeID: "lists.b", Answer: rules.AnswerConfirmed},
		},
	}, {NodeID: "owners", Each: true, Status: rules.GroupFlagged, Members: []rules.GroupMember{{NodeID: "owners[1]", Answer: rules.AnswerFlagged}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"status":"met","need":"all","members":[{"node_id":"lists.a","label":"","answer":"confirmed"},{"node_id":"lists.b","label":"","answer":"confirmed"}]`,
		`"status":"met","elements":[{"node_id":"owners[1]","label":"","answer":"confirmed"}]`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the report is %s, want %s", raw, want)
		}
	}
}
