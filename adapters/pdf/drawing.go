// Drawings: the pieces that pages are made of, and how maroto draws them.

package pdf

import (
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/breakline"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/consts/orientation"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"github.com/verifyd/verifyd/adapters/pdf/typeset"
)

// drawing is a strip of the page over its whole width: filled boxes, and text
// on them. Lengths are in millimetres from its upper left corner.
type drawing struct {
	height float64
	boxes  []box
	texts  []glyphs
}

type box struct {
	x, y, w, h float64
	ink        ink
}

// glyphs is a string in one font of the document. y is its baseline.
type glyphs struct {
	x, y float64
	size float64 // in points
	ink  ink
	font string
	text string
}

func (d *drawing) fill(x, y, w, h float64, i ink) {
	d.boxes = append(d.boxes, box{x, y, w, h, i})
}

// frame draws the border of a box, inside it.
func (d *drawing) frame(x, y, w, h, thickness float64, i ink) {
	d.fill(x, y, w, thickness, i)
	d.fill(x, y+h-thickness, w, thickness, i)
	d.fill(x, y, thickness, h, i)
	d.fill(x+w-thickness, y, thickness, h, i)
}

// shift moves all down, and makes room above.
func (d *drawing) shift(by float64) {
	for i := range d.boxes {
		d.boxes[i].y += by
	}
	for i := range d.texts {
		d.texts[i].y += by
	}
	d.height += by
}

// line puts a line of text on a baseline.
func (d *drawing) line(l typeset.Line, x, baseline float64, st style) {
	for _, p := range l.Pieces {
		d.texts = append(d.texts, glyphs{x + p.X, baseline - p.Rise, st.Size, st.ink, p.Font, p.Text})
	}
}

// lines puts lines below each other, and returns where they end.
func (d *drawing) lines(ls []typeset.Line, x, top float64, st style) (bottom float64) {
	for _, l := range ls {
		d.line(l, x, top+st.Ascent(), st)
		top += st.Leading()
	}
	return top
}

// component shows a drawing to maroto. What maroto asks only to describe the
// tree of components is answered by an empty text.
type component struct {
	core.Component
	drawing *drawing
}

func newComponent(d *drawing) component {
	return component{Component: text.New(""), drawing: d}
}

// GetHeight is the height of the drawing.
func (c component) GetHeight(core.Provider, *entity.Cell) float64 { return c.drawing.height }

// Render draws. A box is a line as thick as the box is high: maroto has no
// other shape that can stand anywhere.
func (c component) Render(provider core.Provider, cell *entity.Cell) {
	for _, b := range c.drawing.boxes {
		provider.AddLine(&entity.Cell{X: cell.X + b.x, Y: cell.Y + b.y, Width: b.w, Height: b.h}, &props.Line{
			Color: b.ink.color(), Style: linestyle.Solid, Thickness: b.h,
			Orientation: orientation.Horizontal, OffsetPercent: 50, SizePercent: 100,
		})
	}
	for _, t := range c.drawing.texts {
		// maroto puts the baseline one font size below the top of the cell, and
		// would break the text if the cell were not wide enough.
		provider.AddText(t.text, &entity.Cell{
			X: cell.X + t.x, Y: cell.Y + t.y - typeset.Millimetres(t.size), Width: 10 * pageWidth, Height: pageHeight,
		}, &props.Text{
			Family: t.font, Size: t.size, Color: t.ink.color(),
			Align: align.Left, BreakLineStrategy: breakline.EmptySpaceStrategy,
		})
	}
}

func (i ink) color() *props.Color {
	return &props.Color{Red: int(i >> 16 & 0xFF), Green: int(i >> 8 & 0xFF), Blue: int(i & 0xFF)}
}
