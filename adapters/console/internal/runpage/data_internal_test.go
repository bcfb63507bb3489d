package runpage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// outline returns a table as indented lines.
func outline(fields []dataField, indent string) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s%s: %s", indent, f.Label, f.Text)
		if f.Unit != "" {
			fmt.Fprintf(&b, " [%s]", f.Unit)
		}
		if f.Ours {
			b.WriteString(" *")
		}
		b.WriteByte('\n')
		b.WriteString(outline(f.Fields, indent+"  "))
		b.WriteString(outline(f.Items, indent+"- "))
	}
	return b.String()
}

func TestDataIsShownInItsOrderWithLabels(t *testing.T) {
	schema := workflow.DataSchema(verification.Data(`{"properties":{
		"score":{"title":"Similarity","x-unit":"%"},
		"hits":{"title":"Hits","items":{"properties":{"born":{"title":"Date of birth"}}}},
		"name":{"title":"Full name"}, "country":{"oneOf":[{"const":"fr","title":"France"},{"const":"in","title":"India"}]}}}`).Map())
	data := verification.Data(`{"zulu":"last letter first","name":"Asha","country":"in","score":97.50,"big":12345678901234567890,
		"hits":[{"born":"1990-01-01","aliases":["A","B"]},{"born":null}],"address":{"lines":{"first":"","last":"12 Road"}},
		"passed":true,"again":false,"none":null,"empty_list":[],"empty":{},"file":{"document_id":"x"}}`)
	got := tableOf(data, schema, map[string]bool{"file": true}, func(key string) string { return key })
	want := `Zulu: last letter first
Full name: Asha
Country: India
Similarity: 97.50 [%]
Big: 12345678901234567890
Hits: 
- : 
-   Date of birth: 1990-01-01
-   Aliases: 
-   - : A
-   - : B
- : 
-   Date of birth: data.none *
Address: 
  Lines: 
    First: data.empty *
    Last: 12 Road
Passed: data.yes *
Again: data.no *
None: data.none *
Empty list: data.empty *
Empty: data.empty *
`
	if diff := cmp.Diff(want, outline(got.Fields, "")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestALargeObjectIsCutOff(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"list":[0`)
	for i := range maxValues + 20 {
		fmt.Fprintf(&b, ",%d", i)
	}
	b.WriteString(`],"after":{"x":1}}`)
	got := tableOf(verification.Data(b.String()), nil, nil, func(key string) string { return key })
	if len(got.Fields) != 1 || len(got.Fields[0].Items) != maxValues || got.More != 22 {
		t.Errorf("%d fields, %d items and %d more, want 1, %d and 22", len(got.Fields), len(got.Fields[0].Items), got.More, maxValues)
	}
}

func TestEmptyObjectsAndListsCountTowardTheLimit(t *testing.T) {
	list := strings.Repeat("{},[],", maxValues) + "{}"
	got := tableOf(verification.Data(`{"list":[`+list+`]}`), nil, nil, func(key string) string { return key })
	if len(got.Fields[0].Items) != maxValues || got.More != maxValues+1 {
		t.Errorf("%d items and %d more, want %d and %d", len(got.Fields[0].Items), got.More, maxValues, maxValues+1)
	}
}

func TestDataThatIsNotJSONIsShownAsItIs(t *testing.T) {
	got := tableOf(verification.Data(`{"a":`), nil, nil, func(key string) string { return key })
	if len(got.Fields) != 1 || got.Fields[0].Text != `{"a":` {
		t.Errorf("table = %+v", got)
	}
}

func TestAListOfEqualObjectsIsATable(t *testing.T) {
	for _, row := range []struct {
		name, list string
		want       []string
	}{
		{"equal fields", `[{"on":"2026-01-01","amount":1},{"on":"2026-01-02","amount":2}]`, []string{"On", "Amount"}},
		{"the last item is cut", `[{"on":"2026-01-01","amount":1},{"on":"2026-01-02"}]`, []string{"On", "Amount"}},
		{"an item without a field", `[{"on":"2026-01-01","amount":1},{"on":"2026-01-02"},{"on":"2026-01-03","amount":3}]`, nil},
		{"fields in another order", `[{"on":"2026-01-01","amount":1},{"amount":2,"on":"2026-01-02"}]`, nil},
		{"an item in an item", `[{"on":{"day":1}},{"on":{"day":2}}]`, nil},
		{"one item", `[{"on":"2026-01-01"}]`, nil},
		{"too many fields", `[{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1},{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}]`, nil},
		{"single values", `["a","b"]`, nil},
	} {
		table := tableOf(verification.Data(`{"list":`+row.list+`}`), nil, nil, func(key string) string { return key })
		if diff := cmp.Diff(row.want, table.Fields[0].Columns()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestAListHasTheDirectionOfMostOfItsLetters(t *testing.T) {
	for want, texts := range map[string][]string{
		"ltr": {"طارق is the same", "each name has a word that the other has not"},
		"rtl": {"عبد الرحمن", "محمد (IQ)"},
	} {
		if got := direction(texts); got != want {
			t.Errorf("direction of %q = %s, want %s", texts, got, want)
		}
	}
}
