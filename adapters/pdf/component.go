// The components and columns that the rows of a report are made of.

package pdf

import (
	"math"

	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/consts/breakline"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/consts/orientation"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"github.com/verifyd/verifyd/internal/typeset"
)

// block is a row of the report, and how it is divided over pages.
type block struct {
	core.Row
	height float64 // in millimetres
	keep   bool    // on the page of the next block
	// head is the head of the table that the row is in, which is repeated if a page begins
	// with the row; nil for none.
	head *block
}

// newBlock returns a row. Its height is rounded up to 0.01 mm: gofpdf adds up the
// heights of a page itself, and would break the page early if its sum differed.
func newBlock(height float64, cols ...core.Col) block {
	height = math.Ceil(height*100-1e-6) / 100
	return block{Row: row.New(height).Add(cols...), height: height}
}

func space(height float64) block { return newBlock(height, column(contentWidth)) }

// column returns a column of a width in millimetres. Columns of a row add up to
// contentWidth.
func column(width float64, components ...core.Component) core.Col {
	return col.New(int(math.Round(width * gridPerMillimetre))).Add(components...)
}

// filled returns a column with a background.
func filled(width float64, background ink, components ...core.Component) core.Col {
	return column(width, components...).WithStyle(&props.Cell{BackgroundColor: background.color()})
}

// bordered returns a column with a thin border on some sides.
func bordered(width float64, sides border.Type, line ink, components ...core.Component) core.Col {
	return column(width, components...).WithStyle(&props.Cell{
		BorderType: sides, BorderColor: line.color(), BorderThickness: hairline,
	})
}

// paragraph is shaped text. maroto's own text is neither shaped nor broken by the
// rules of its script.
type paragraph struct {
	core.Component // the parts of the interface that describe the tree

	lines     []typeset.Line
	style     style
	left, top float64 // the position in the column
}

func newParagraph(left, top float64, st style, lines ...typeset.Line) paragraph {
	return paragraph{Component: text.New(""), lines: lines, style: st, left: left, top: top}
}

// bottom returns where the text ends, from the top of the column.
func (p paragraph) bottom() float64 { return p.top + float64(len(p.lines))*p.style.Leading() }

// GetHeight implements core.Component.
func (p paragraph) GetHeight(core.Provider, *entity.Cell) float64 { return p.bottom() }

// Render implements core.Component.
func (p paragraph) Render(provider core.Provider, cell *entity.Cell) {
	baseline := cell.Y + p.top + p.style.Ascent()
	for _, line := range p.lines {
		for _, piece := range line.Pieces {
			// maroto puts the baseline one font size below the top of the cell, and
			// breaks text that is wider than the cell.
			provider.AddText(piece.Text, &entity.Cell{
				X: cell.X + p.left + piece.X, Y: baseline - typeset.Millimetres(p.style.Size),
				Width: 10 * pageWidth, Height: pageHeight,
			}, &props.Text{
				Family: piece.Font, Size: p.style.Size, Color: p.style.ink.color(),
				Align: align.Left, BreakLineStrategy: breakline.EmptySpaceStrategy,
			})
		}
		baseline += p.style.Leading()
	}
}

// badge is a status in a frame. It ends at right, and is smaller than its column.
type badge struct {
	paragraph
	tone       tone
	right, top float64
	width      float64
	height     float64
}

// newBadge returns a badge with the text scaled from styleBadge.
func (l *layout) newBadge(right, top float64, word string, t tone, scale float64) badge {
	st := styleBadge()
	st.Size *= scale
	st.ink = t.dark
	line := l.word(word, st)
	w, h := line.Width+5*scale, 5*scale
	baseline := top + h/2 + typeset.Millimetres(st.Size*0.357)
	return badge{
		paragraph: newParagraph(right-w+2.5*scale, baseline-st.Ascent(), st, line),
		tone:      t, right: right, top: top, width: w, height: h,
	}
}

// Render implements core.Component. A filled box is a line as thick as the box is
// high: maroto has no other shape that is smaller than its column.
func (b badge) Render(provider core.Provider, cell *entity.Cell) {
	const frame = 0.3
	left, top := cell.X+b.right-b.width, cell.Y+b.top
	box := func(x, y, w, h float64, i ink) {
		provider.AddLine(&entity.Cell{X: left + x, Y: top + y, Width: w, Height: h}, &props.Line{
			Color: i.color(), Style: linestyle.Solid, Thickness: h,
			Orientation: orientation.Horizontal, OffsetPercent: 50, SizePercent: 100,
		})
	}
	box(0, 0, b.width, b.height, b.tone.pale)
	box(0, 0, b.width, frame, b.tone.dark)
	box(0, b.height-frame, b.width, frame, b.tone.dark)
	box(0, 0, frame, b.height, b.tone.dark)
	box(b.width-frame, 0, frame, b.height, b.tone.dark)
	b.paragraph.Render(provider, cell)
}

func (i ink) color() *props.Color {
	return &props.Color{Red: int(i >> 16 & 0xFF), Green: int(i >> 8 & 0xFF), Blue: int(i & 0xFF)}
}
