// Tests of the charts: their frame, ticks, labels and styles.

package chart_test

import (
	"encoding/xml"
	"html/template"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/chart"
	"github.com/verifyd/verifyd/internal/rig/golden"
)

func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// painter returns a Painter.
func painter(t interface{ Fatal(...any) }) chart.Painter {
	p, err := chart.NewPainter()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheTicksOfAnAxisAreFewRoundAndAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		highest := rapid.OneOf(
			rapid.Float64Range(0, 100), rapid.Float64Range(0, 1e12), rapid.SampledFrom([]float64{0, -1, math.NaN(), math.Inf(1), 1e-9, 86400}),
		).Draw(t, "highest")
		for name, axis := range map[string]chart.Axis{
			"counts": chart.Counts(highest, plain), "durations": chart.Durations(highest, plain),
		} {
			n := len(axis.Ticks)
			if n < 2 || n > 6 {
				t.Fatalf("%s of %v have %d ticks, want 2 to 6", name, highest, n)
			}
			if axis.Ticks[0].Value != 0 {
				t.Fatalf("%s of %v begin at %v, want 0", name, highest, axis.Ticks[0].Value)
			}
			for i, tick := range axis.Ticks[1:] {
				if before := axis.Ticks[i]; tick.Value <= before.Value || tick.Label == before.Label {
					t.Fatalf("%s of %v: tick %+v follows %+v", name, highest, tick, before)
				}
				if name == "counts" && tick.Value != math.Trunc(tick.Value) {
					t.Fatalf("counts of %v have the tick %v", highest, tick.Value)
				}
			}
			if last := axis.Ticks[n-1].Value; last < highest && highest <= 1e15 {
				t.Fatalf("%s of %v end at %v", name, highest, last)
			}
		}
	})
}

func TestStepsAreRound(t *testing.T) {
	for _, c := range []struct {
		axis chart.Axis
		want string
	}{
		{chart.Counts(0, plain), "0 1"},
		{chart.Counts(1, plain), "0 1"},
		{chart.Counts(7, plain), "0 2 4 6 8"},
		{chart.Counts(11, plain), "0 5 10 15"},
		{chart.Counts(1234, plain), "0 500 1000 1500"},
		{chart.Durations(0, plain), "0 0.001"},
		{chart.Durations(3, plain), "0 1 2 3"},
		{chart.Durations(100, plain), "0 30 60 90 120"},
		{chart.Durations(7*3600, plain), "0 7200 14400 21600 28800"},
		{chart.Durations(9*86400, plain), "0 172800 345600 518400 691200 864000"},
	} {
		var got []string
		for _, tick := range c.axis.Ticks {
			got = append(got, tick.Label)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("ticks = %s, want %s", s, c.want)
		}
	}
}

// values draws the values of series: counts, gaps, and values that are not valid.
func values(t *rapid.T, points int) (all []chart.Series) {
	one := rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.SampledFrom([]float64{0, math.NaN(), -5, math.Inf(1)}))
	for i := range rapid.IntRange(0, chart.MaxSeries).Draw(t, "series") {
		n := rapid.IntRange(0, points).Draw(t, "values")
		all = append(all, chart.Series{Name: "series " + strconv.Itoa(i), Values: rapid.SliceOfN(one, n, n).Draw(t, "one")})
	}
	return all
}

func TestEverythingStaysInTheFrame(t *testing.T) {
	d := painter(t)
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.IntRange(0, 100).Draw(t, "points")
		series := values(t, points)
		c := chart.Chart{
			ID: "c", Title: "title", Desc: "desc", Empty: "nothing", RTL: rapid.Bool().Draw(t, "rtl"), Series: series, Format: plain,
			Axis: chart.Counts(chart.Highest(series, rapid.Bool().Draw(t, "stacked")), plain),
		}
		p, b := chart.Plot{Chart: c}, chart.Bars{Chart: c}
		for i := range points {
			p.Points = append(p.Points, chart.Point{Label: plain(float64(i)), Name: "point"})
			b.Rows = append(b.Rows, chart.Row{Label: "row", Value: "value"})
		}
		for name, draw := range map[string]func() (template.HTML, error){
			"columns": func() (template.HTML, error) { return d.Columns(p) },
			"lines":   func() (template.HTML, error) { return d.Lines(p) },
			"bars":    func() (template.HTML, error) { return d.Bars(b) },
		} {
			drawn, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range elements(t, string(drawn)) {
				inside(t, name, e)
			}
		}
	})
}

// inside fails the test if a box, a mark or a line leaves the chart.
func inside(t *rapid.T, name string, e xml.StartElement) {
	at := map[string]string{}
	for _, a := range e.Attr {
		at[a.Name.Local] = a.Value
	}
	for key, value := range at {
		if strings.Contains(value, "NaN") || strings.Contains(value, "Inf") || key == "style" {
			t.Fatalf("%s: %s=%q", name, key, value)
		}
	}
	x, w := number(t, at["x"]), number(t, at["width"])
	y, h := number(t, at["y"]), number(t, at["height"])
	switch {
	case strings.HasSuffix(at["x"], "%") && !strings.HasSuffix(at["width"], "%") && (x < -0.01 || x > 100.01):
		t.Fatalf("%s: a %s is at %v%%", name, e.Name.Local, x)
	case strings.HasSuffix(at["width"], "%") && at["x"] != "" && (x < -0.01 || x+w > 100.01 || w < 0):
		t.Fatalf("%s: a %s reaches from %v%% to %v%%", name, e.Name.Local, x, x+w)
	case strings.Contains(at["class"], "chart-box") && at["y"] != "" && (y < 7.9 || y+h > 208.1 || h < 0):
		t.Fatalf("%s: a box reaches from %v to %v pixels", name, y, y+h)
	case strings.Contains(at["class"], "chart-mark") && strings.HasSuffix(at["x"], "%") && (y < 7.9 || y > 208.1):
		t.Fatalf("%s: a mark is at %v pixels", name, y)
	}
	if e.Name.Local == "path" && strings.Contains(at["class"], "s1") {
		for _, pair := range strings.FieldsFunc(at["d"], func(r rune) bool { return r == 'M' || r == 'L' }) {
			x, y, _ := strings.Cut(pair, " ")
			if px, py := number(t, x), number(t, y); px < 0 || px > 1000 || py < 7.9 || py > 208.1 {
				t.Fatalf("%s: a line reaches %v, %v", name, px, py)
			}
		}
	}
}

func number(t *rapid.T, s string) float64 {
	if s == "" {
		return 0
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// elements parses the drawing, which is XML too.
func elements(t interface{ Fatalf(string, ...any) }, drawn string) (all []xml.StartElement) {
	in := xml.NewDecoder(strings.NewReader("<x>" + drawn + "</x>"))
	for {
		token, err := in.Token()
		if token == nil {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, drawn)
		}
		if e, ok := token.(xml.StartElement); ok {
			all = append(all, e)
		}
	}
	return all
}

// sample is a plot of five days.
func sample(series ...chart.Series) chart.Plot {
	p := chart.Plot{Chart: chart.Chart{
		ID: "runs", Title: "Runs per day", Desc: "5 days", Empty: "No runs in this time.", Series: series,
		Axis: chart.Counts(chart.Highest(series, true), plain), Format: plain,
	}}
	for _, day := range []string{"16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov"} {
		p.Points = append(p.Points, chart.Point{Label: day, Name: day + " 2026"})
	}
	return p
}

func TestDrawings(t *testing.T) {
	d := painter(t)
	counts := []chart.Series{{Name: "completed", Values: []float64{3, 5, 0, 4, 2}}, {Name: "failed <b>", Values: []float64{1, 0, 0, 2}}}
	times := []chart.Series{{Name: "half", Values: []float64{60, math.NaN(), 90, 120, 30}}, {Name: "95 %", Values: []float64{300, math.NaN(), 400, 500, 200}}}
	lines := sample(times...)
	lines.Axis = chart.Durations(chart.Highest(times, false), plain)
	mirrored := sample(counts...)
	mirrored.RTL = true
	one := sample(chart.Series{Name: "completed", Values: []float64{1}})
	one.Points = one.Points[:1]
	bars := chart.Bars{Chart: sample(counts...).Chart, Rows: []chart.Row{
		{"Consent", "3 of 4"},
		{"PAN & name", "5 of 5"},
		{"Photo", "none"},
		{"पहचान", "4 of 6"},
		{"Review", "2 of 2"},
	}}
	for name, draw := range map[string]func() (template.HTML, error){
		"columns":       func() (template.HTML, error) { return d.Columns(sample(counts...)) },
		"columns-rtl":   func() (template.HTML, error) { return d.Columns(mirrored) },
		"columns-one":   func() (template.HTML, error) { return d.Columns(one) },
		"columns-empty": func() (template.HTML, error) { return d.Columns(sample(chart.Series{Values: []float64{0, 0}})) },
		"lines":         func() (template.HTML, error) { return d.Lines(lines) },
		"bars":          func() (template.HTML, error) { return d.Bars(bars) },
		"bars-empty":    func() (template.HTML, error) { return d.Bars(chart.Bars{Chart: bars.Chart}) },
	} {
		drawn, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name+".html", []byte(drawn))
	}
}

func TestAChartHasNoMoreSeriesThanPatterns(t *testing.T) {
	d := painter(t)
	p := sample(make([]chart.Series, chart.MaxSeries+1)...)
	if _, err := d.Columns(p); err == nil {
		t.Error("columns of seven series are drawn, want an error")
	}
	if _, err := d.Lines(p); err == nil {
		t.Error("lines of seven series are drawn, want an error")
	}
	if _, err := d.Bars(chart.Bars{Chart: p.Chart}); err == nil {
		t.Error("bars of seven series are drawn, want an error")
	}
}

func TestNoTwoSeriesOfAChartLookTheSame(t *testing.T) {
	d := painter(t)
	for _, styles := range [][]int{{2, 0}, {1, 1}, {7}, {-1}} {
		var series []chart.Series
		for _, n := range styles {
			series = append(series, chart.Series{Values: []float64{1}, Style: n})
		}
		if _, err := d.Columns(sample(series...)); err == nil {
			t.Errorf("series with the styles %v are drawn, want an error", styles)
		}
	}
	drawn, err := d.Columns(sample(chart.Series{Values: []float64{1}, Style: 4}))
	if err != nil || !strings.Contains(string(drawn), `id="runs-p4" class="chart-pattern s4"`) {
		t.Errorf("drawing = %s, %v; want the pattern 4", drawn, err)
	}
}

func TestLabelsAreFewAndTheLastPointHasOne(t *testing.T) {
	d := painter(t)
	for _, n := range []int{1, 7, 12, 13, 30, 90, 366} {
		p := chart.Plot{Chart: chart.Chart{ID: "c", Series: []chart.Series{{Values: []float64{1}}}, Format: plain, Axis: chart.Counts(1, plain)}}
		for i := range n {
			p.Points = append(p.Points, chart.Point{Label: "day " + strconv.Itoa(i+1)})
		}
		drawn, err := d.Columns(p)
		if err != nil {
			t.Fatal(err)
		}
		all, minor := strings.Count(string(drawn), ">day "), strings.Count(string(drawn), "chart-minor")
		if all == 0 || all > 12 || all-minor == 0 || all-minor > 4 {
			t.Errorf("%d points have %d labels, %d in a narrow chart; want up to 12 and 4", n, all, all-minor)
		}
		if !strings.Contains(string(drawn), `chart-tick" x="`) || !strings.Contains(string(drawn), ">day "+strconv.Itoa(n)+"<") {
			t.Errorf("the last of %d points has no label", n)
		}
	}
}
