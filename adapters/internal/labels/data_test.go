package labels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// outline returns the values as indented lines.
func outline(of labels.DataValue, indent string) string {
	var b strings.Builder
	for v := range of.Values() {
		line := fmt.Sprint(indent, v.Kind)
		for _, text := range []string{v.Name, v.Title, v.Text, v.Unit} {
			if text != "" {
				line += " " + text
			}
		}
		if v.Empty {
			line += " (empty)"
		}
		b.WriteString(line + "\n" + outline(v, indent+"  "))
	}
	return b.String()
}

func TestDataIsReadInItsOrder(t *testing.T) {
	schema := workflow.DataSchema(verification.Data(`{"properties":{
		"score":{"title":"Similarity","x-unit":"%"}, "country":{"oneOf":[{"const":"in","title":"India"}]},
		"hits":{"items":{"properties":{"born":{"title":"Born"}}}}, "years":{"items":{"x-unit":"CE"}}}}`).Map())
	data := labels.ReadData(verification.Data(`{"zulu":"first","score":97.50,"country":"in","big":12345678901234567890,
		"hits":[{"born":"1990"},{"born":null},[]],"years":[2e3,""],"yes":true,"no":false,"":{},"zulu":"again"}`), schema)
	want := `text zulu first
number score Similarity 97.50 %
text country India
number big 12345678901234567890
list hits
  object
    text born Born 1990
  object
    none born Born
  list (empty)
list years
  number 2000 CE
  text CE (empty)
true yes true
false no false
object (empty)
text zulu again
`
	if diff := cmp.Diff(want, outline(data, "")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestDataThatIsNoObjectIsOneText(t *testing.T) {
	for _, text := range []string{`{"a":`, `[1]`, `null`, `{"a":1}}`, strings.Repeat("[", 1<<20)} {
		if v := labels.ReadData(verification.Data(text), nil); v.Kind != labels.DataText || v.Empty || v.Text != text || outline(v, "") != "" {
			t.Errorf("%.9s is %s, want a text", text, v.Kind)
		}
	}
	for _, text := range []string{``, `{}`} {
		if v := labels.ReadData(verification.Data(text), nil); v.Kind != labels.DataObject || !v.Empty || outline(v, "") != "" {
			t.Errorf("%q is %s, want an empty object", text, v.Kind)
		}
	}
}

func TestValuesThatAreNotReadAreSkipped(t *testing.T) {
	const text = `{"a":{"b":[{"c":1},2],"d":3},"e":[[4],[[5]]],"f":6}`
	for stop := range 4 { // at so many values of each object and list below the data
		var names []string
		for v := range labels.ReadData(verification.Data(text), nil).Values() {
			names = append(names, v.Name)
			read := 0
			for below := range v.Values() {
				if read++; read > stop {
					break
				}
				for range below.Values() {
					break
				}
			}
		}
		if diff := cmp.Diff([]string{"a", "e", "f"}, names); diff != "" {
			t.Errorf("stopped at %d: names (-want +got):\n%s", stop, diff)
		}
	}
}
