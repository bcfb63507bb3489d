package desk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// owners returns a history in which the texts about one owner begin with "mine-", and all others with "others-". The owner is
// the second one at first, and then the first one.
func owners(r *records) []rules.Event {
	r.workflow = r.Apply(workflow.Definition{
		Workflow: "owners", Name: "Owners", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Next: "owners", Fields: workflow.InputFields{
				{Name: "company", Type: workflow.FieldText},
				{Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}, {Name: "photo", Type: workflow.FieldImage}}},
			}},
			"owners": {
				Type: workflow.NodeCheck, Label: "Owner", Provider: "script", Key: "owner", ForEach: "steps.details.data.owners", OnFailed: workflow.TargetNext,
				With: verification.Data(`{"name":"${item.name}"}`), Next: "home", Element: &workflow.ElementFields{Name: "item.name"},
			},
			"home": {
				Type: workflow.NodeCustomerInput, Label: "Home", ForEach: "steps.details.data.owners", Next: "done", Element: &workflow.ElementFields{Name: "item.name"},
				Fields: workflow.InputFields{{Name: "bill", Type: workflow.FieldText}},
			},
			"done": {Type: workflow.NodeEnd},
		},
	})
	const other = "00000000-0000-7000-8000-00000000d0c2"
	row := func(name, document string) string {
		return fmt.Sprintf(`{"name":%q,"photo":{"document_id":%q}}`, name, document)
	}
	mine, others := row("mine-name", upload), row("others-name", other)
	began := func(node verification.NodeID, kind workflow.NodeType, visit int, rows ...string) rules.GroupBegan {
		return rules.GroupBegan{Node: node, Type: kind, Label: "Owner", Visit: visit, Each: true, Elements: 2, Items: verification.Data(`{"list":[` + strings.Join(rows, ",") + `]}`)}
	}
	check := func(node verification.NodeID, visit int, said string) []rules.Fact {
		return []rules.Fact{
			rules.Dispatched{Node: node, Key: "owner", Label: "Owner", Provider: "script", Dispatch: 1, Visit: visit},
			rules.ResultRecorded{Node: node, Passed: true, Data: verification.DataOf(map[string]any{"said": said})},
		}
	}
	form := func(node verification.NodeID, said string) []rules.Fact {
		return []rules.Fact{
			rules.CustomerAwaited{Node: node, Type: workflow.NodeCustomerInput, Signal: "home"},
			rules.CustomerSubmitted{Node: node, Data: verification.DataOf(map[string]any{"bill": said})},
		}
	}
	corrected := func(node verification.NodeID, field, text string) rules.Corrected {
		return rules.Corrected{Node: node, Field: field, Correction: text, By: "asha", Identity: "asha"}
	}
	facts := slices.Concat([]rules.Fact{
		rules.Started{
			Workflow: r.workflow.ID, WorkflowName: "Owners", Version: 1, VersionHash: r.workflow.Current(), ReferenceID: "others-reference",
			Input: verification.Data(`{"x":"others-input","rows":[` + mine + `,` + others + `]}`),
		},
		rules.CustomerAwaited{Node: "details", Type: workflow.NodeCustomerInput, Signal: "details"},
		rules.DocumentUploaded{Node: "details", Document: upload, Field: "owners[1].photo", MediaType: "image/png", SHA256: "mine-sha"},
		rules.DocumentUploaded{Node: "details", Document: other, Field: "owners[0].photo", MediaType: "image/png", SHA256: "others-sha"},
		rules.CustomerSubmitted{Node: "details", Data: verification.Data(`{"company":"others-company","owners":[` + others + `,` + mine + `]}`)},
		corrected("details", "owners[1].name", "mine-corrected"), corrected("details", "owners[0].name", "others-corrected"),
		corrected("details", "owners", "others-list"), corrected("details", "company", "others-company-corrected"),
		began("owners", workflow.NodeCheck, 1, others, mine),
	}, check("owners[1]", 1, "others-first"), check("owners[2]", 1, "mine-first"), []rules.Fact{
		rules.GroupDecided{Node: "owners", Type: workflow.NodeCheck, Passed: true},
		began("owners", workflow.NodeCheck, 2, mine, others),
	}, check("owners[1]", 2, "mine-second"), check("owners[2]", 2, "others-second"), []rules.Fact{
		rules.GroupDecided{Node: "owners", Type: workflow.NodeCheck, Passed: true},
		corrected("", "rows[0].name", "mine-input-corrected"), corrected("", "rows[1]", "others-input-corrected"), corrected("", "x", "others-x"),
		corrected("owners[1]", "said", "mine-said"), corrected("owners[2]", "said", "others-said"),
		began("home", workflow.NodeCustomerInput, 1, mine, others),
	}, form("home[1]", "mine-bill"), form("home[2]", "others-bill"), []rules.Fact{
		rules.GroupDecided{Node: "home", Type: workflow.NodeCustomerInput, Passed: true},
		rules.NoteAdded{Notes: "others-note", By: "others-noter"},
		rules.Completed{Node: "done", Outcome: "others-outcome"},
	})
	history := make([]rules.Event, len(facts))
	for i, f := range facts {
		history[i] = rules.Event{At: enginetest.Began().Add(time.Duration(i) * time.Minute), Fact: f}
	}
	return history
}

func TestTheFileOfAnOwnerHasNothingOfOthers(t *testing.T) {
	r := newRecords(t)
	id := r.keep(owners(r))
	want := []string{"mine-bill", "mine-corrected", "mine-first", "mine-input-corrected", "mine-name", "mine-said", "mine-second", "mine-sha"}
	for _, q := range []desk.PersonQuery{{Run: id, Element: "owners[1]"}, {Run: id, Element: "home[1]", ScreeningReason: "order of a court"}} {
		files := r.read(q)
		if found := words(all(files), "others"); found != nil {
			t.Errorf("the file of %s has of others: %v", q.Element, found)
		}
		if found := words(all(files), "mine"); !slices.Equal(found, want) {
			t.Errorf("the file of %s has %v, want %v", q.Element, found, want)
		}
		if _, has := files[string(id)+"/run.json"]; has {
			t.Error("the file has the run")
		}
		if documents := slices.Collect(func(yield func(string) bool) {
			for name := range files {
				if strings.Contains(name, "/documents/") && !yield(name) {
					return
				}
			}
		}); len(documents) != 1 || files[documents[0]] != "person-content" {
			t.Errorf("the file has the documents %v, want the photo of the owner", documents)
		}
		if report := files[string(id)+"/report.json"]; strings.Count(report, `"node_id"`) != 2 || !strings.Contains(report, `"home[1]"`) || !strings.Contains(report, `"ok": 2`) {
			t.Errorf("report.json = %s, want the cards of the owner", report)
		}
		if !strings.Contains(files["index.txt"], "is about Owner · mine-name alone") || strings.Contains(files["index.txt"], "\n  run.json") {
			t.Errorf("the index does not say whom the file is about: %s", files["index.txt"])
		}
	}
	if whole := r.read(desk.PersonQuery{Run: id}); !strings.Contains(all(whole), "others-input") || strings.Contains(whole["index.txt"], "alone") {
		t.Error("the file of the person of the run has changed")
	}
	for _, element := range []verification.NodeID{"owners[3]", "owners", "details"} {
		if _, _, err := r.write(desk.PersonQuery{Run: id, Element: element}); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("the file of %s = %v, want ErrInvalid", element, err)
		}
	}
}
