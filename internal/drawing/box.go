// The boxes of nodes: their names, and the marks below them.

package drawing

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification/workflow"
)

// mark is a line in the box of a node: a member of a group, or what its type does not say.
type mark struct {
	name  string // of a member
	word  string // with %s for count
	count int
	code  string // an expression
}

// text returns the line in the language of a picture.
func (m mark) text(word func(string) string) string {
	parts := []string{}
	if m.name != "" {
		parts = append(parts, "• "+m.name)
	}
	if m.word != "" {
		parts = append(parts, strings.ReplaceAll(word(m.word), "%s", strconv.Itoa(m.count)))
	}
	if m.code != "" {
		parts = append(parts, m.code)
	}
	return strings.Join(parts, " ")
}

// marks returns the conditions and lists of a step, how a group is decided, and its members.
func marks(n workflow.Node) (all []mark) {
	if n.When != "" && n.IsStep() {
		all = append(all, mark{word: "when", code: n.When})
	}
	if n.ForEach != "" {
		all = append(all, mark{word: "for each of", code: n.ForEach})
	}
	if n.Type != workflow.NodeChecks {
		return all
	}
	order := "together"
	if n.Called() == workflow.OrderOneByOne {
		order = "one by one"
	}
	need := mark{word: "%s must confirm, " + order, count: int(n.Need)}
	if n.Need == workflow.NeedAll {
		need = mark{word: "all must confirm, " + order}
	}
	all = append(all, need)
	for _, m := range n.Members {
		member := mark{name: cmp.Or(m.Label, m.Name)}
		if m.When != "" {
			member.word, member.code = "when", m.When
		}
		all = append(all, member)
	}
	return all
}

// box is the text of a node and its size.
type box struct {
	kind   string
	name   []string
	rows   []line // its marks
	change Change
	w, h   float64
}

func (w *writer) newBox(v vertex, change Change) box {
	name := string(v.id)
	kind := w.kind(v)
	if v.node.Label != "" && v.node.Label != name && !v.missing {
		kind, name = kind+" · "+name, v.node.Label
	}
	b := box{
		kind: shorten(oneLine(kind), nameWidth, kindWidthOf), change: change,
		name: wrap(name, nameLines, nameWidth, nameWidthOf),
	}
	b.w = max(kindWidthOf(b.kind), 76)
	for _, text := range b.name {
		b.w = max(b.w, nameWidthOf(text))
	}
	for _, m := range marks(v.node) {
		kind, size := "text", textWidthOf
		if m.code != "" {
			kind, size = "code", codeWidth
		}
		for _, text := range wrap(m.text(w.word), ruleLines, labelWidth, size) {
			b.w = max(b.w, size(text))
			b.rows = append(b.rows, line{text, kind})
		}
	}
	b.w = roundUp(b.w + 44)
	b.h = roundUp(b.rowsTop() + 8)
	if len(b.rows) > 0 {
		b.h = roundUp(b.rowsTop() + lineLeading*float64(len(b.rows)) + 14)
	}
	return b
}

// rowsTop returns how far below the top of the box its rows begin.
func (b box) rowsTop() float64 { return kindLeading + nameLeading*float64(len(b.name)) + 12 }

func roundUp(x float64) float64 { return float64(int(x/2+1)) * 2 }
