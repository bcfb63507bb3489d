package console

import (
	"testing"

	"github.com/verifyd/verifyd/verification/view"
)

func TestAFactOfOneSourceIsNotTheSame(t *testing.T) {
	v := session{}.factsView(view.Facts{
		Sources: []view.FactSource{{Kind: view.SourceCheck, Label: "A"}, {Kind: view.SourceCheck, Label: "B"}},
		Rows: []view.FactRow{
			{Fact: "Name", Cells: []view.FactCell{{Source: 0, Text: "Asha"}, {Source: 1}}},
			{Fact: "PAN", Cells: []view.FactCell{{Source: 0, Text: "X"}, {Source: 1, Text: "X"}}},
		},
	})
	if name, pan := v.Rows[0], v.Rows[1]; !name.Alone || pan.Alone {
		t.Errorf("alone: name %t, PAN %t; want only the name", name.Alone, pan.Alone)
	}
}
