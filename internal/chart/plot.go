// Plots: stacked columns and lines over points in time.

package chart

import (
	"html/template"
	"math"
	"strings"
)

// Plot is a chart over points, such as days.
type Plot struct {
	Chart
	Points []Point
}

// Point is one position on the horizontal axis.
type Point struct {
	Label string // short, for the axis
	Name  string // long, for the text of the point
}

// The height of the plot area, and the space above and below it for labels, in pixels.
const (
	plotHeight = 200
	plotTop    = 8  // for the upper half of the highest label of the axis
	plotFoot   = 28 // for the labels of the points
)

// view is the data of the templates.
type view struct {
	Chart
	Height     int
	Width      int // of the coordinates of paths
	Top        int // of the plot area, as are Bottom and AreaHeight
	Bottom     int
	AreaHeight int
	LabelX     string // of the labels of the axis
	LabelDX    int
	Grid       []gridLine
	Labels     []label
	Columns    []column
	Paths      []path
	Patterns   []pattern
	Key        []keyEntry
}

type gridLine struct{ Y, Label string }

// label is a label of a point. A minor one is left out in a narrow chart.
type label struct {
	X, Text string
	Minor   bool
}

// column is the part of a plot above one point.
type column struct {
	X, Width string // of the whole space of the point
	Text     string
	Boxes    []box
	Marks    []mark
}

type box struct{ X, Y, Width, Height, Fill, Class string }

// mark is the mark of one value of a line. Its shape is that of the series.
type mark struct {
	X, Y, Class string
	Marker      int
}

type path struct{ D, Class string }

// Columns draws one column for each point, in which the values of the series are
// stacked.
func (d Painter) Columns(p Plot) (template.HTML, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	if p.empty(false) {
		return d.draw("empty", p.Chart)
	}
	v := p.frame()
	v.Patterns, v.Key = p.patterns(), p.key(true)
	for i := range p.Points {
		v.Columns[i].Boxes = p.stack(i)
	}
	return d.draw("plot", v)
}

// Lines draws one line for each series.
func (d Painter) Lines(p Plot) (template.HTML, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	if p.empty(true) {
		return d.draw("empty", p.Chart)
	}
	v := p.frame()
	v.Key = p.key(false)
	for n, s := range p.Series {
		v.Paths = append(v.Paths, path{D: p.trace(s), Class: p.class(n)})
		for i := range p.Points {
			if value := s.at(i); p.marked(s, i) {
				v.Columns[i].Marks = append(v.Columns[i].Marks, mark{X: p.across(p.middle(i), 0), Y: number(p.y(value)), Class: p.class(n), Marker: p.style(n)})
			}
		}
	}
	return d.draw("plot", v)
}

// maxMarks is the maximum number of points at which every value of a line has a mark.
const maxMarks = 31

// marked reports whether the line of a series has a mark at a point. With more than maxMarks
// points, only the last value has one, and each value between two gaps.
func (p Plot) marked(s Series, i int) bool {
	has := func(i int) bool { return i >= 0 && i < len(p.Points) && !math.IsNaN(s.at(i)) }
	if !has(i) {
		return false
	}
	if len(p.Points) <= maxMarks || !has(i-1) && !has(i+1) {
		return true
	}
	for next := i + 1; next < len(p.Points); next++ {
		if has(next) {
			return false
		}
	}
	return true
}

// pathWidth is the width of the coordinates of paths, which the browser stretches.
const pathWidth = 1000

// frame returns the axes of a plot, and its columns without boxes and marks.
func (p Plot) frame() view {
	v := view{
		Chart: p.Chart, Width: pathWidth, Height: plotTop + plotHeight + plotFoot, Top: plotTop, AreaHeight: plotHeight, Bottom: plotTop + plotHeight,
		LabelX: p.across(0, 0), LabelDX: -8,
	}
	if p.RTL {
		v.LabelDX = 8
	}
	for _, t := range p.Axis.Ticks {
		v.Grid = append(v.Grid, gridLine{Y: number(p.y(t.Value)), Label: t.Label})
	}
	v.Labels = p.labels()
	for i, point := range p.Points {
		width := 1 / float64(len(p.Points))
		v.Columns = append(v.Columns, column{X: p.across(float64(i)*width, width), Width: percent(width), Text: p.text(i, point)})
	}
	return v
}

// The maximum numbers of labels of points in a wide and in a narrow chart.
const maxLabels, maxNarrowLabels = 12, 4

// labels returns the labels of the points: evenly spaced, the last point always has one.
func (p Plot) labels() (all []label) {
	n := len(p.Points)
	step := (n + maxLabels - 1) / maxLabels
	narrowStep := step * ((n + step*maxNarrowLabels - 1) / (step * maxNarrowLabels))
	for i, point := range p.Points {
		if left := n - 1 - i; left%step == 0 {
			all = append(all, label{X: p.across(p.middle(i), 0), Text: point.Label, Minor: left%narrowStep != 0})
		}
	}
	return all
}

// text returns the values of a point in words, one line for each.
func (p Plot) text(i int, point Point) string {
	lines := []string{point.Name}
	for _, s := range p.Series {
		if v := s.at(i); !math.IsNaN(v) {
			lines = append(lines, s.Name+": "+p.Format(v))
		}
	}
	return strings.Join(lines, "\n")
}

// middle returns the position of a point as a share of the axis.
func (p Plot) middle(i int) float64 { return (float64(i) + 0.5) / float64(len(p.Points)) }

// y returns the vertical position of a value.
func (p Plot) y(v float64) float64 { return plotTop + plotHeight*(1-p.Axis.share(v)) }

// The width of a column.
const (
	columnShare    = 0.72 // of the space of its point
	maxColumnShare = 0.12 // of the chart
)

// stack returns the boxes of a column, from the bottom.
func (p Plot) stack(i int) (all []box) {
	width := min(columnShare/float64(len(p.Points)), maxColumnShare)
	x := p.across(p.middle(i)-width/2, width)
	sum := 0.0
	for n, s := range p.Series {
		value := s.at(i)
		if !(value > 0) { // also NaN
			continue
		}
		low := p.y(sum)
		sum += value
		high := p.y(sum)
		all = append(all, box{X: x, Y: number(high), Width: percent(width), Height: number(low - high), Fill: p.patternID(n), Class: p.class(n)})
	}
	return all
}

// trace returns the path of a line, with gaps.
func (p Plot) trace(s Series) string {
	var b strings.Builder
	pen := "M"
	for i := range p.Points {
		value := s.at(i)
		if math.IsNaN(value) {
			pen = "M"
			continue
		}
		x := p.middle(i)
		if p.RTL {
			x = 1 - x
		}
		b.WriteString(pen + number(pathWidth*x) + " " + number(p.y(value)))
		pen = "L"
	}
	return b.String()
}
