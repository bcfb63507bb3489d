// Tests of what a definition may say about screening.

package screening_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// published returns the problems of a workflow that screens with these keys.
func published(t *testing.T, keys string) string {
	t.Helper()
	definition := workflow.Definition{
		Workflow: "screening", Name: "Screening", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Next: "registry", Fields: workflow.InputFields{
				{Name: "name", Label: "Name", Type: workflow.FieldText}, {Name: "born", Label: "Born", Type: workflow.FieldDate},
			}},
			"registry": {Type: workflow.NodeCheck, Provider: "registry", Next: "screen", With: verification.Data(`{"born": "${steps.details.data.born}"}`)},
			"screen": {
				Type: workflow.NodeCheck, Provider: screening.ProviderName, Next: "done",
				With: verification.Data(`{"list": "l", "kind": "person", "name": "${steps.details.data.name}"` + keys + `}`),
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
	described := map[string]verification.ProviderDescription{screening.ProviderName: workflow.Describe(screening.NewProvider(nil, nil))}
	_, err := workflow.Compile(t.Context(), "5b1c0c1e-8f7a-4b0e-9d53-0f2f2f6f8a11", workflow.Version{Definition: definition}, expression.New(), nil, described)
	if err == nil {
		return ""
	}
	var problem *verification.Error
	if !errors.As(err, &problem) {
		t.Fatal(err)
	}
	var all []string
	for _, f := range problem.Fields {
		all = append(all, f.Name+" "+f.Message)
	}
	return strings.Join(all, "\n")
}

func TestAFormDoesNotClearItsCustomer(t *testing.T) {
	const form = "nodes.screen.with.birth_date is what the customer says in the step details, and no source vouches for it: " +
		"take it from a check or from the input of the run, remove it from clear_on, or set trust_customer to true"
	const computed = "nodes.screen.with.clear_on must be a list without ${...}, because it says which values a source must vouch for"
	for keys, want := range map[string]string{
		`, "birth_date": "${steps.details.data.born}"`:                                                                                "",
		`, "birth_date": "${steps.details.data.born}", "clear_on": []`:                                                                "",
		`, "birth_date": "${steps.registry.data.born}", "clear_on": ["birth_date"]`:                                                   "",
		`, "birth_date": "${input.born}", "clear_on": ["birth_date"]`:                                                                 "",
		`, "birth_date": "1961-03-14", "clear_on": ["birth_date"]`:                                                                    "",
		`, "birth_date": "${steps.details.data.born}", "clear_on": ["birth_date"]`:                                                    form,
		`, "birth_date": "${steps.details.data.born}", "clear_on": ["birth_date"], "trust_customer": true`:                            "",
		`, "birth_date": "${steps.details.data.born}", "clear_on": ["birth_date"], "trust_customer": false`:                           form,
		`, "birth_date": "${steps.details.data.born}", "clear_on": ["birth_date"], "trust_customer": "${input.born == ''}"`:           form,
		`, "birth_date": "${steps.registry.data.?born.orValue(steps.details.data.born)}", "clear_on": ["birth_date"]`:                 form,
		`, "birth_date": "${steps.registry.passed ? steps.registry.data.born : steps.details.data.born}", "clear_on": ["birth_date"]`: form,
		`, "birth_date": "${[steps.details].map(s, s.data.born)[0]}", "clear_on": ["birth_date"]`:                                     form,
		`, "birth_date": "19${steps.details.data.born.substring(2)}", "clear_on": ["birth_date"]`:                                     form,
		`, "birth_date": "1961", "clear_on": ["${input.key}"]`:                                                                        computed,
		`, "birth_date": "1961", "clear_on": "${input.keys}"`:                                                                         computed,
	} {
		if got := published(t, keys); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", keys, got, want)
		}
	}
}

func TestAWrongConstantIsFoundAtPublish(t *testing.T) {
	const country = "must be a country: its name or its code, such as India, IN, IND or 356"
	for keys, want := range map[string]string{
		`, "countries": ["India", "in", "IND", "356", "D", "XXB", "Yugoslavia", "भारत"]`: "",
		`, "countries": "RKS"`:                               "",
		`, "countries": ["${steps.details.data.name}"]`:      "",
		`, "countries": "${steps.details.data.name}"`:        "",
		`, "countries": ["Indja"]`:                           "nodes.screen.with.countries[0] " + country + "; did you mean India?",
		`, "countries": ["${input.country}", "Ruritania"]`:   "nodes.screen.with.countries[1] " + country + "; did you mean Mauritania?",
		`, "countries": ["sout korea"]`:                      "nodes.screen.with.countries[0] " + country + "; did you mean South Korea?",
		`, "countries": "Germny"`:                            "nodes.screen.with.countries " + country + "; did you mean Germany?",
		`, "birth_date": "14.3.1961"`:                        "nodes.screen.with.birth_date does not have the expected form",
		`, "birth_date": "1961-03"`:                          "",
		`, "birth_date": "${input.born}", "countries": null`: "",
	} {
		if got := published(t, keys); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", keys, got, want)
		}
	}
}

func TestAPolicyIsCheckedAtPublish(t *testing.T) {
	for keys, want := range map[string]string{
		`, "policy": {"sanction": {"review_at": 0.85, "fail_at": 0.99}, "pep": "review", "relative": "note", "*": "fail"}`: "",
		`, "policy": {"role.pep.frmr": "note", "crime": "fail"}`:                                                           "",
		`, "policy": {"sanctions": "fail"}`:                                                                                "nodes.screen.with.policy.sanctions unknown field; did you mean sanction?",
		`, "policy": {"pep": "ignore"}`:                                                                                    "nodes.screen.with.policy.pep must be \"fail\", \"review\" or \"note\"",
		`, "policy": {"pep": {"review_at": 2}}`:                                                                            "nodes.screen.with.policy.pep.review_at must be at most 1",
		`, "policy": {"pep": {"note_at": 0.9}}`:                                                                            "nodes.screen.with.policy.pep.note_at is not allowed",
		`, "policy": {"pep": {}}`:                                                                                          "nodes.screen.with.policy.pep must have at least 1 field",
		`, "clear_on": ["country"]`:                                                                                        "nodes.screen.with.clear_on[0] must be \"birth_date\"",
		`, "identifiers": {"passport": "A1", "tax": ["1", "2"]}`:                                                           "",
		`, "identifiers": {"visa": "A1"}`:                                                                                  "nodes.screen.with.identifiers.visa unknown field",
		`, "identifiers": {"passport": 7}`:                                                                                 "nodes.screen.with.identifiers.passport must be null or a string or a list",
	} {
		if got := published(t, keys); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", keys, got, want)
		}
	}
}
