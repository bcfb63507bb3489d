package runpage

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAScoreStandsOnItsScale(t *testing.T) {
	schema := workflow.DataSchema(verification.Data(`{"properties":{
		"in":{"x-scale":{"from":-1,"to":1,"fails_below":0,"passes_from":0.5}},"over":{"x-scale":{"to":1,"fails_below":0.5,"passes_from":0.7}},
		"wrong":{"x-scale":{"to":1,"fails_below":0.8,"passes_from":0.7}},"text":{"x-scale":{"to":1,"fails_below":0.5,"passes_from":0.7}}}}`).Map())
	b := tableBuilder{message: func(key string) string { return key }}
	got := map[string]*scaleView{}
	data := labels.ReadData(verification.Data(`{"in":0.5,"over":97,"wrong":0.5,"text":"0.5","none":0.5}`), schema)
	for v := range data.Values() {
		got[v.Name] = b.scale(v)
	}
	in := scaleView{
		Value: "0.5", From: "-1", To: "1", FailsBelow: "scale.fails 0", PassesFrom: "scale.passes 0.5",
		At: "75.00%", Fails: "50.00%", Passes: "75.00%", Rest: "25.00%",
	}
	if got["in"] == nil || *got["in"] != in {
		t.Errorf("the scale is %+v, want %+v", got["in"], in)
	}
	if got["over"] == nil || got["over"].At != "100.00%" {
		t.Errorf("a score above its scale is at %+v, want its end", got["over"])
	}
	if got["wrong"] != nil || got["text"] != nil || got["none"] != nil {
		t.Errorf("scales that are not valid, or of no number: %v", got)
	}
}
