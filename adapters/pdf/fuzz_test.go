package pdf_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

// FuzzPrint prints any text in every field: printing never panics or fails, and nothing
// leaves the page.
func FuzzPrint(f *testing.F) {
	for _, seed := range []struct{ label, reason, data string }{
		{"PAN verification", "The check did not pass.", `{"a":{"b":[1,"two",null]}}`},
		{"सत्यापन", "لم ينجح (code 42) abc 10%", `{"नाम":"अनन्या","x":[[1],[{"y":[]}]]}`},
		{"👨‍👩‍👧 𠀀 漢", "\x00\u202e\u2067\xff\u200d", `{"broken":[`},
		{"Z\u0301\u0301\u0941", "אבג 12, (34) cd", `{"":{"":""}}`},
		{strings.Repeat("﷽", 20), strings.Repeat("wordless", 60), "null"},
	} {
		f.Add(seed.label, seed.reason, seed.data)
	}
	p := plain(f)
	f.Fuzz(func(t *testing.T, label, reason, data string) {
		r := sample()
		r.Run.ReferenceID, r.Workflow.Name = label, label
		r.Cards[1].Label, r.Cards[1].Reason, r.Cards[1].Data = label, reason, verification.Data(data)
		value, err := verification.NewData(map[string]any{label: []any{reason, map[string]any{reason: data}}})
		if err == nil {
			r.Cards[2].Data = value
		}
		doc := render(t, p, r)
		checkPages(t, doc, bytes.Count(doc, []byte("/Type /Page\n")))
	})
}
