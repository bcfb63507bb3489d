// Package chart draws charts as HTML with inline SVG: columns, lines and bars.
//
// A chart fills the width of its container: positions along the horizontal axis are
// percentages, so text keeps its size from 320 pixels up. Colours are classes, which
// chart.css of the console maps to custom properties. Each series also has a pattern
// or a marker of its own, so that it can be told apart without its colour. A chart has no
// inline style, as the Content-Security-Policy of the console demands.
package chart

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
)

// Series is one value at each point or row. A line has a gap where the value is NaN.
type Series struct {
	Name   string
	Values []float64
	// Style is the colour, pattern and marker, from 1 to MaxSeries; 0 means the position
	// of the series. No two series of a chart have the same style.
	Style int
}

// Chart is the part that all kinds of charts have in common.
type Chart struct {
	ID    string // the prefix of the ids of its elements, unique on the page
	Title string // says what the chart shows, for screen readers
	Desc  string // defines what the values are, for screen readers
	Empty string // the text in place of a chart without values
	RTL   bool   // mirrors the horizontal axis
	Axis  Axis
	// Series are at most MaxSeries. Their order is the order of the stack, from the
	// bottom or the start.
	Series []Series
	// Format returns a value with its unit, as text.
	Format func(float64) string
}

// MaxSeries is the maximum number of series: each has a colour and a pattern.
const MaxSeries = 6

// Highest returns the largest value of the series, or of the sums of the series if
// they are stacked. It is 0 without values.
func Highest(series []Series, stacked bool) float64 {
	highest := 0.0
	for i := range longest(series) {
		sum := 0.0
		for _, s := range series {
			v := s.at(i)
			if math.IsNaN(v) {
				continue
			}
			sum += v
			highest = max(highest, v)
		}
		if stacked {
			highest = max(highest, sum)
		}
	}
	return highest
}

func longest(series []Series) (n int) {
	for _, s := range series {
		n = max(n, len(s.Values))
	}
	return n
}

// at returns a value, or NaN where the series has none.
func (s Series) at(i int) float64 {
	if i < len(s.Values) {
		return s.Values[i]
	}
	return math.NaN()
}

// empty reports whether no series has a value to draw. 0 is one only if zero is true, as
// for a line.
func (c Chart) empty(zero bool) bool {
	return !slices.ContainsFunc(c.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Values, func(v float64) bool { return v > 0 || zero && v == 0 })
	})
}

// check returns an error if there are too many series, or two have the same style.
func (c Chart) check() error {
	if len(c.Series) > MaxSeries {
		return fmt.Errorf("chart %s has %d series, the limit is %d", c.ID, len(c.Series), MaxSeries)
	}
	used := map[int]bool{}
	for i := range c.Series {
		if n := c.style(i); n < 1 || n > MaxSeries || used[n] {
			return fmt.Errorf("chart %s: series %d has the style %d, which does not exist or is used twice", c.ID, i, n)
		}
		used[c.style(i)] = true
	}
	return nil
}

// keyEntry explains one series in the key of a chart.
type keyEntry struct {
	Class   string // the colour
	Pattern string // the id of the pattern; empty for a line
	Marker  int
	Name    string
}

// key returns the key of the chart, or nil for a single series.
func (c Chart) key(patterns bool) (all []keyEntry) {
	if len(c.Series) < 2 {
		return nil
	}
	for i, s := range c.Series {
		k := keyEntry{Class: c.class(i), Marker: c.style(i), Name: s.Name}
		if patterns {
			k.Pattern = c.patternID(i)
		}
		all = append(all, k)
	}
	return all
}

// style returns the style of a series.
func (c Chart) style(series int) int { return cmp.Or(c.Series[series].Style, series+1) }

func (c Chart) class(series int) string { return "s" + strconv.Itoa(c.style(series)) }

func (c Chart) patternID(series int) string { return c.ID + "-p" + strconv.Itoa(c.style(series)) }

// pattern is the fill of the boxes of a series.
type pattern struct {
	ID, Class string
	Motif     int
}

// patterns returns the fills of all series.
func (c Chart) patterns() (all []pattern) {
	for i := range c.Series {
		all = append(all, pattern{ID: c.patternID(i), Class: c.class(i), Motif: c.style(i)})
	}
	return all
}

// across returns the position of a box along the horizontal axis as a percentage.
// start and width are shares of the axis.
func (c Chart) across(start, width float64) (x string) {
	if c.RTL {
		start = 1 - start - width
	}
	return percent(start)
}

func percent(share float64) string { return number(100*share) + "%" }

// number formats a coordinate, rounded to thousandths.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

//go:embed chart.html
var source string

// Painter draws charts. It is safe for concurrent use.
type Painter struct{ templates *template.Template }

// NewPainter returns a Painter.
func NewPainter() (Painter, error) {
	t, err := template.New("chart").Parse(source)
	return Painter{t}, err
}

func (p Painter) draw(kind string, view any) (template.HTML, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, kind, view); err != nil {
		return "", fmt.Errorf("draw %s: %w", kind, err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // html/template has escaped it
}
