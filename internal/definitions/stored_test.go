package definitions_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestWhatIsStoredAsJSONReadsBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyDefinition().Draw(t, "definition")
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		d, err := definitions.ReadWorkflow("w.json", raw)
		if err != nil {
			t.Fatalf("%s\n%v", raw, err)
		}
		if diff := cmp.Diff(want, d.Definition); diff != "" {
			t.Fatalf("definition (-want +got):\n%s", diff)
		}
	})
}

func anyDefinition() *rapid.Generator[workflow.Definition] {
	name := rapid.StringMatching(`[a-z][a-z0-9_]{0,9}`)
	text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool {
		return r != 0 && r != '\ufffd' && (r < 0x7f || r >= 0xa0) && r != 0xfffe && r != 0xffff
	}))
	node := func(t *rapid.T, label string) verification.NodeID { return verification.NodeID(name.Draw(t, label)) }
	data := rapid.Custom(func(t *rapid.T) verification.Data {
		m := map[string]any{}
		for k, v := range rapid.MapOfN(text, text, 0, 3).Draw(t, "texts") {
			m[k] = v
		}
		if rapid.Bool().Draw(t, "more") {
			m["list"] = []any{rapid.Float64Range(-1e9, -1e-9).Draw(t, "number"), nil, true, rapid.Int32().Draw(t, "whole")}
		}
		d, err := verification.NewData(m)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
	seconds := rapid.Float64Range(0, 1e6)
	return rapid.Custom(func(t *rapid.T) workflow.Definition {
		d := workflow.Definition{
			Workflow: name.Draw(t, "workflow"), Name: text.Draw(t, "name"), Description: text.Draw(t, "description"),
			RunTTLSeconds: rapid.Int64Range(0, 316_224_000).Draw(t, "ttl"), Start: node(t, "start"),
			InputSchema: data.Draw(t, "schema"), Nodes: map[verification.NodeID]workflow.Node{},
		}
		if rapid.Bool().Draw(t, "told") {
			publish := rapid.Bool().Draw(t, "publish")
			d.Publish = &publish
		}
		for range rapid.IntRange(0, 4).Draw(t, "nodes") {
			n := workflow.Node{Label: text.Draw(t, "label"), Next: node(t, "next")}
			switch rapid.IntRange(0, 3).Draw(t, "type") {
			case 3:
				n.Type, n.ForEach, n.Until = workflow.NodeChecks, text.Draw(t, "list"), text.Draw(t, "until")
				n.Order = rapid.SampledFrom([]workflow.Order{"", workflow.OrderTogether, workflow.OrderOneByOne}).Draw(t, "order")
				n.Finish = rapid.SampledFrom([]workflow.Finish{"", workflow.FinishDecided, workflow.FinishAll}).Draw(t, "finish")
				n.Need, n.OnNotMet = workflow.Need(rapid.IntRange(0, workflow.MaxMembers).Draw(t, "need")), node(t, "not met")
				for _, member := range rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(t, "members") {
					n.Members = append(n.Members, workflow.Member{
						Name: member, Label: text.Draw(t, "member"), When: text.Draw(t, "when"), Provider: text.Draw(t, "provider"), With: data.Draw(t, "with"),
					})
				}
			case 0:
				n.Type, n.With, n.TimeoutSeconds = workflow.NodeCheck, data.Draw(t, "with"), rapid.Float64Range(0, 600).Draw(t, "timeout")
				if rapid.Bool().Draw(t, "retries") {
					n.Retry = &workflow.Retry{MaxDispatches: rapid.IntRange(0, 100).Draw(t, "max"), BackoffSeconds: seconds.Draw(t, "backoff")}
				}
			case 1:
				n.Type, n.Next = workflow.NodeBranch, ""
				for _, rule := range rapid.SliceOfN(text, 0, 3).Draw(t, "rules") {
					n.Rules = append(n.Rules, workflow.Rule{When: rule, Next: node(t, "to")})
				}
			case 2:
				n.Type, n.Optional = workflow.NodeCustomerInput, rapid.Bool().Draw(t, "optional")
				for _, field := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "fields") {
					low := seconds.Draw(t, "min")
					n.Fields = append(n.Fields,
						workflow.InputField{Name: field, Type: workflow.FieldNumber, Help: text.Draw(t, "help"), Min: &low},
						workflow.InputField{
							Name: field + "_s", Type: workflow.FieldSelect,
							Options: []workflow.Option{{Value: text.Draw(t, "value"), Label: text.Draw(t, "option")}},
						})
				}
			}
			d.Nodes[node(t, "node")] = n
		}
		return d
	})
}
