package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfRejectReasons(t *testing.T) {
	type def = workflow.Definition
	with := func(change func(r *workflow.RejectReason)) func(*def) {
		return func(d *def) {
			d.RejectReasons = flows.Reasons()
			change(&d.RejectReasons[0])
		}
	}
	const code = "must be a lower-case letter followed by letters, digits or _, at most 64 characters"
	type reason = workflow.RejectReason
	eachProblem(t, []invalid{
		{"no code", with(func(r *reason) { r.Code = "" }), "reject_reasons[0].code", "is required"},
		{"a code in capitals", with(func(r *reason) { r.Code = "Name" }), "reject_reasons[0].code", code},
		{"a code of 65 characters", with(func(r *reason) { r.Code = strings.Repeat("c", 65) }), "reject_reasons[0].code", code},
		{"a code twice", with(func(r *reason) { r.Code = "other" }), "reject_reasons[1].code", "is there twice"},
		{"no label", with(func(r *reason) { r.Label = "" }), "reject_reasons[0].label", "is required"},
		{"a long label", with(func(r *reason) { r.Label = strings.Repeat("ä", 201) }), "reject_reasons[0].label", "must be at most 200 characters"},
		{
			"a label in no language", with(func(r *reason) { r.LabelIn = workflow.Translations{"e": "x"} }),
			"reject_reasons[0].label.e", "a language must be a tag such as en or pt-BR",
		},
		{
			"a long text for the customer", with(func(r *reason) { r.CustomerText = strings.Repeat("x", 2001) }),
			"reject_reasons[0].customer_text", "must be at most 2000 characters",
		},
		{
			"a text for the customer that is empty in a language", with(func(r *reason) { r.CustomerTextIn["hi"] = "" }),
			"reject_reasons[0].customer_text.hi", "is required",
		},
		{"51 reasons", func(d *def) {
			for i := range 51 {
				d.RejectReasons = append(d.RejectReasons, reason{Code: fmt.Sprintf("c%d", i), Label: "Other"})
			}
		}, "reject_reasons", "must be at most 50"},
		{"notes on rejection", func(d *def) { d.Notes = "on_rejct" }, "notes", "must be one of optional, on_reject, required; did you mean on_reject?"},
	})
}

func TestRejectReasonsKeepTheirTextsInJSON(t *testing.T) {
	for _, want := range append(flows.Reasons(), workflow.RejectReason{
		Code: "a", Label: "<A>", LabelIn: workflow.Translations{"en": "<A>", "fr": "A"},
	}) {
		raw, err := json.Marshal(want)
		var got workflow.RejectReason
		if err != nil || json.Unmarshal(raw, &got) != nil {
			t.Fatalf("%s, %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
	if got := flows.Reasons()[0].In("hi"); got.CustomerText != "नाम की पुष्टि नहीं हुई।" || got.Label != "The name does not match" {
		t.Errorf("in Hindi the reason is %+v", got)
	}
}
