// Bars: one horizontal bar for each row, below the label of the row.

package chart

import "html/template"

// Bars is a chart with one bar for each row. The values of the series are stacked.
type Bars struct {
	Chart
	Rows []Row
}

// Row is the text of one bar.
type Row struct {
	Label string
	Value string // the values in words
}

// barHeight is the height of a bar in pixels.
const barHeight = 18

type barsView struct {
	Chart
	Height   int
	Rows     []barView
	Grid     []barTick
	Patterns []pattern
	Key      []keyEntry
}

type barView struct {
	Row
	Boxes []box
}

// barTick is a tick of the axis below the bars. A minor one has no label in a narrow chart.
type barTick struct {
	X, Label, Anchor string
	Minor            bool
}

// Bars draws bars.
func (d Painter) Bars(b Bars) (template.HTML, error) {
	if err := b.check(); err != nil {
		return "", err
	}
	if len(b.Rows) == 0 {
		return d.draw("empty", b.Chart)
	}
	v := barsView{Chart: b.Chart, Height: barHeight, Patterns: b.patterns(), Key: b.key(true)}
	for i, t := range b.Axis.Ticks {
		tick := barTick{X: b.across(b.Axis.share(t.Value), 0), Label: t.Label, Anchor: "middle", Minor: i > 0 && i < len(b.Axis.Ticks)-1}
		switch i {
		case 0:
			tick.Anchor = "start"
		case len(b.Axis.Ticks) - 1:
			tick.Anchor = "end"
		}
		v.Grid = append(v.Grid, tick)
	}
	for i, row := range b.Rows {
		v.Rows = append(v.Rows, barView{Row: row, Boxes: b.boxes(i)})
	}
	return d.draw("bars", v)
}

// boxes returns the parts of a bar, from the start.
func (b Bars) boxes(i int) (all []box) {
	sum := 0.0
	for n, s := range b.Series {
		value := s.at(i)
		if !(value > 0) { // also NaN
			continue
		}
		start := b.Axis.share(sum)
		sum += value
		width := b.Axis.share(sum) - start
		all = append(all, box{X: b.across(start, width), Width: percent(width), Fill: b.patternID(n), Class: b.class(n)})
	}
	return all
}
