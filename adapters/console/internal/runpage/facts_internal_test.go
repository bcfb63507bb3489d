package runpage

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/facts"
)

func TestAFactOfOneSourceIsNotTheSame(t *testing.T) {
	v := factsOf(shell.Session{}, desk.RunRecord{Facts: facts.Facts{
		Sources: []facts.Source{{Kind: facts.SourceCheck, Label: "A"}, {Kind: facts.SourceCheck, Label: "B"}},
		Rows: []facts.Row{
			{Fact: "Name", Cells: []facts.Cell{{Source: 0, Text: "Asha"}, {Source: 1}}},
			{Fact: "PAN", Cells: []facts.Cell{{Source: 0, Text: "X"}, {Source: 1, Text: "X"}}},
		},
	}})
	if name, pan := v.Rows[0], v.Rows[1]; !name.Alone || pan.Alone {
		t.Errorf("alone: name %t, PAN %t; want only the name", name.Alone, pan.Alone)
	}
}
