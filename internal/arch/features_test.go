// What verifyd does not do, beside what it can be told and what can happen.

package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notDone are sentences of the documentation that a new feature can make wrong.
func notDone() []struct{ page, says string } {
	return []struct{ page, says string }{
		{"comparison.md", "It reads no documents and compares no\n  faces."},
		{"comparison.md", "You score transactions"},
		{"comparison.md", "You need groups within groups, a run that starts other runs, or a step that waits for a date."},
		{"comparison.md", "People must be told before their data goes"},
		{"comparison.md", "there is no hosted offer"},
		{"concepts.md", "consent, customer input, check, group of checks, branch, review and end"},
		{"concepts.md", "A run is at one node at a time, and waits there for the customer, a reviewer, or a source"},
		{"concepts.md", "Only a [redaction](data-protection.md) rewrites events"},
		{"regrets.md", "| more of S3 |"},
		{"regrets.md", "| roles of accounts |"},
		{"regrets.md", "| re-screening in every case |"},
		{"regrets.md", "| decisions on hits of earlier visits on paper |"},
		{"regrets.md", "| drafts of a form on the server |"},
		{"regrets.md", "| a check of photos for reflections"},
		{"regrets.md", "`workflow replay` and `run verify` are not built"},
		{"regrets.md", "| missing values inside `items` and `item` |"},
		{"regrets.md", "| groups in `verifyctl run show` and in a person's file |"},
		{"regrets.md", "| more than one region |"},
	}
}

// features are the types of nodes, commands and events that these sentences were read for.
const features = `
	branch check checks consent customer_input end review

	Abort AddNote AskAgain Assign Cancel Correct DecideHit EndHold Expire GiveVerdict HoldRun OpenJourney RecordCallback RecordFailure
	RecordHits RecordResult RecordReturn Redispatch Remind ReturnProposal Start Submit Upload

	asked_again assigned branch_taken callback_received cancelled compared completed corrected customer_awaited customer_submitted dispatch_failed
	dispatched document_uploaded documents_removed erased expired failed group_began group_decided held hit_decided hits_cleared hits_found
	hold_ended journey_opened no_answer note_added poll_failed proposal_returned redacted redirected rejected_before restricted
	restriction_lifted result_pending result_recorded result_unavailable returned review_asked review_due_soon skipped started
	verdict_proposed verdict_recorded
`

// A new type of node, command or event fails this test until its author has read what the documentation says verifyd
// does not do.
func TestDocsKnowWhatIsNotDone(t *testing.T) {
	for _, n := range notDone() {
		page, err := os.ReadFile(filepath.Join(root, "docs", n.page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), n.says) {
			t.Errorf("docs/%s no longer says %q: change the list here, too", n.page, n.says)
		}
	}
	have, known := featuresOf(t), strings.Fields(features)
	for _, f := range have {
		if !slices.Contains(known, f) {
			t.Errorf("%s is new: read the sentences of notDone, mend those that are wrong now, and add it to features", f)
		}
	}
	for _, f := range known {
		if !slices.Contains(have, f) {
			t.Errorf("%s is gone: remove it from features", f)
		}
	}
	if len(have) < 70 {
		t.Errorf("only %d node types, commands and events were found", len(have))
	}
}

// featuresOf returns the types of nodes, the commands, and the kinds of events that the source declares.
func featuresOf(t *testing.T) (found []string) {
	t.Helper()
	for file, src := range sources(t) {
		if dir := path.Dir(file); dir != "verification/rules" && dir != "verification/workflow" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.ValueSpec:
				if d.Type != nil && text(d.Type) == "NodeType" && len(d.Values) == 1 {
					found = append(found, strings.Trim(text(d.Values[0]), `"`))
				}
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "command" {
					found = append(found, text(d.Recv.List[0].Type))
				}
			case *ast.CompositeLit:
				if d.Type == nil || text(d.Type) != "About" {
					return true
				}
				for _, of := range d.Elts {
					if pair, ok := of.(*ast.KeyValueExpr); ok && text(pair.Key) == "Kind" {
						found = append(found, strings.Trim(text(pair.Value), `"`))
					}
				}
			}
			return true
		})
	}
	return found
}
