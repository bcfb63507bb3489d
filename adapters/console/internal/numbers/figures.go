// Figures: the charts of the numbers page and the tables behind them, and those of steps,
// times and providers.

package numbers

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/chart"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
)

// figure is one chart and its table. The messages "numbers." with Name and ".title" or ".text"
// name and define what it shows.
type figure struct {
	Name    string
	Drawing template.HTML
	Table   table
}

// figures makes the figures of the numbers page for a person. It keeps the first error in
// err.
type figures struct {
	shell.Session
	charts  chart.Painter
	numbers desk.Numbers
	// workflow reports whether the numbers are of one workflow.
	workflow bool
	err      error
}

// The styles of series: the same meaning has the same look in every figure.
const (
	styleGood, styleBad, styleLate, styleUpper, styleRefused, styleQuiet = 1, 2, 3, 4, 5, 6
)

// figureGroup is a part of the page with a heading: the message "numbers.group." and Name.
type figureGroup struct {
	Name    string
	Columns [][]figure
}

// reviewersFigure is the name of the figure that names people: it is for admins only.
const reviewersFigure = "reviewers"

// groups makes all figures that the person may see, in the order of the page.
func (f *figures) groups() (all []figureGroup) {
	for _, g := range []struct {
		name    string
		columns [][]string
	}{
		{"decisions", [][]string{{"runs", "verdicts", "reasons", reviewersFigure}, {"outcomes", "checks", "steps", "queue"}}},
		{"operators", [][]string{{"latency"}, {"failures"}}},
	} {
		group := figureGroup{Name: g.name}
		for _, names := range g.columns {
			var column []figure
			for _, name := range names {
				if name == reviewersFigure && !f.Role.Audits() {
					continue
				}
				made, err := f.figure(name)
				f.keep(err)
				column = append(column, made)
			}
			group.Columns = append(group.Columns, column)
		}
		all = append(all, group)
	}
	return all
}

// figure returns the figure with this name, or ErrNotFound.
func (f *figures) figure(name string) (figure, error) {
	draw := map[string]func() figure{
		"runs": f.runs, "outcomes": f.outcomes, "checks": f.checks, "reasons": f.reasons, reviewersFigure: f.reviewers,
		"steps": f.steps, "verdicts": f.verdicts, "queue": f.queue, "latency": f.latency, "failures": f.failures,
	}[name]
	if draw == nil {
		return figure{}, verification.NotFound("figure")
	}
	made := draw()
	made.Name = name
	return made, f.err
}

// text returns a message, and keeps the first error.
func (f *figures) text(key string, args ...any) string {
	text, err := f.T(key, args...)
	f.keep(err)
	return text
}

func (f *figures) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *figures) took(d time.Duration) string {
	text, err := duration(f.Session, d)
	f.keep(err)
	return text
}

func (f *figures) part(part, whole int) string {
	text, err := share(f.Session, part, whole)
	f.keep(err)
	return text
}

// chart returns the common part of a chart.
func (f *figures) chart(name string, axis chart.Axis, format func(float64) string, series ...chart.Series) chart.Chart {
	return chart.Chart{
		ID: name, Title: f.text("numbers." + name + ".title"), Desc: f.text("numbers." + name + ".text"),
		Empty: f.text("numbers." + name + ".empty"), RTL: f.Dir() == "rtl", Axis: axis, Series: series, Format: format,
	}
}

// drawn keeps the error of a drawing.
func (f *figures) drawn(h template.HTML, err error) template.HTML {
	f.keep(err)
	return h
}

// column returns a column whose label is the message "numbers." and the key.
func (f *figures) column(key string, number bool) tableColumn {
	return tableColumn{Key: key, Label: f.text("numbers." + key), Number: number}
}

func (f *figures) count(n int) cell { return cell{Text: f.Number(n), Raw: strconv.Itoa(n)} }

// seconds returns the cell of a duration, or a dash if nothing was counted.
func (f *figures) seconds(d time.Duration, counted int) cell {
	if counted == 0 {
		return cell{Text: "–"}
	}
	return cell{Text: f.took(d), Raw: strconv.FormatFloat(d.Seconds(), 'f', 3, 64)}
}

func (f *figures) wholeNumber(v float64) string { return f.Number(int(v)) }

func (f *figures) asDuration(seconds float64) string {
	return f.took(time.Duration(seconds * float64(time.Second)))
}

// plot returns a chart by day, from the first day with a value above 0.
func (f *figures) plot(c chart.Chart) chart.Plot {
	p := chart.Plot{Chart: c}
	first := slices.IndexFunc(f.numbers.Days, func(d desk.DayNumbers) bool {
		day := int(d.Day - f.numbers.Days[0].Day)
		return slices.ContainsFunc(c.Series, func(s chart.Series) bool { return s.Values[day] > 0 })
	})
	if first < 0 {
		return p
	}
	for i := range p.Series {
		p.Series[i].Values = p.Series[i].Values[first:]
	}
	for _, d := range f.numbers.Days[first:] {
		short, err := shortDay(f.Session, d.Day)
		f.keep(err)
		p.Points = append(p.Points, chart.Point{Label: short, Name: d.Day.String()})
	}
	return p
}

// steps shows how many visits reached each step of a workflow, left it, or stopped there.
func (f *figures) steps() figure {
	left := chart.Series{Name: f.text("numbers.left")}
	stopped := chart.Series{Name: f.text("numbers.stopped"), Style: styleBad}
	open := chart.Series{Name: f.text("numbers.open"), Style: styleQuiet}
	t := table{Columns: []tableColumn{
		f.column("step", false), f.column("reached", true), f.column("left", true), f.column("stopped", true),
	}}
	var rows []chart.Row
	highest := 0
	for _, n := range f.numbers.Steps {
		left.Values = append(left.Values, float64(n.Left))
		stopped.Values = append(stopped.Values, float64(n.Stopped))
		open.Values = append(open.Values, float64(max(n.Reached-n.Left-n.Stopped, 0)))
		highest = max(highest, n.Reached, n.Left+n.Stopped)
		rows = append(rows, chart.Row{
			Label: n.Label, Value: f.text("numbers.steps.row", f.Number(n.Reached), f.part(n.Left, n.Reached), f.Number(n.Stopped)),
		})
		t.Rows = append(t.Rows, []cell{{n.Label, n.Label}, f.count(n.Reached), f.count(n.Left), f.count(n.Stopped)})
	}
	c := f.chart("steps", chart.Counts(float64(highest), f.wholeNumber), f.wholeNumber, left, stopped, open)
	if !f.workflow {
		c.Empty = f.text("numbers.steps.choose")
	}
	return figure{Drawing: f.drawn(f.charts.Bars(chart.Bars{Chart: c, Rows: rows})), Table: t}
}

// verdicts shows the time to verdict on each day.
func (f *figures) verdicts() figure {
	median, upper := chart.Series{Name: f.text("numbers.p50")}, chart.Series{Name: f.text("numbers.p95"), Style: styleUpper}
	t := table{Columns: []tableColumn{
		f.column("day", false), f.column("verdicts", true), f.column("counted", true),
		{Key: "p50_seconds", Label: median.Name, Number: true},
		{Key: "p95_seconds", Label: upper.Name, Number: true},
	}}
	for _, d := range f.numbers.Days {
		v, day := d.TimeToVerdict, d.Day.String()
		if v.Count == 0 {
			median.Values, upper.Values = append(median.Values, math.NaN()), append(upper.Values, math.NaN())
		} else {
			median.Values, upper.Values = append(median.Values, v.P50.Seconds()), append(upper.Values, v.P95.Seconds())
		}
		t.Rows = append(t.Rows, []cell{
			{day, day}, f.count(d.Verdicts), f.count(v.Count), f.seconds(v.P50, v.Count), f.seconds(v.P95, v.Count),
		})
	}
	highest := chart.Highest([]chart.Series{median, upper}, false)
	c := f.chart("verdicts", chart.Durations(highest, f.asDuration), f.asDuration, median, upper)
	return figure{Drawing: f.drawn(f.charts.Lines(f.plot(c))), Table: t}
}

// queue shows how long the runs in the review queue have waited.
func (f *figures) queue() figure {
	waiting := chart.Series{Name: f.text("numbers.waiting")}
	t := table{Columns: []tableColumn{f.column("age", false), {Key: "waiting", Label: waiting.Name, Number: true}}}
	var rows []chart.Row
	ages, counts := f.numbers.Queue.Ages, f.numbers.Queue.SinceCounts
	for i, age := range ages {
		n, label := counts[i], f.text("numbers.over", f.took(age))
		raw := fmt.Sprintf("%d s or more", int(age.Seconds()))
		if i+1 < len(ages) {
			next := ages[i+1]
			n -= counts[i+1]
			label = f.text("numbers.between", f.took(age), f.took(next))
			if age == 0 {
				label = f.text("numbers.under", f.took(next))
			}
			raw = fmt.Sprintf("%d to %d s", int(age.Seconds()), int(next.Seconds()))
		}
		waiting.Values = append(waiting.Values, float64(n))
		rows = append(rows, chart.Row{Label: label, Value: f.Number(n)})
		t.Rows = append(t.Rows, []cell{{label, raw}, f.count(n)})
	}
	c := f.chart("queue", chart.Counts(chart.Highest([]chart.Series{waiting}, false), f.wholeNumber), f.wholeNumber, waiting)
	if f.numbers.Queue.Open == 0 {
		rows = nil
	}
	return figure{Drawing: f.drawn(f.charts.Bars(chart.Bars{Chart: c, Rows: rows})), Table: t}
}

// latency shows how long the calls of each provider took.
func (f *figures) latency() figure {
	median, rest := chart.Series{Name: f.text("numbers.p50")}, chart.Series{Name: f.text("numbers.p95"), Style: styleUpper}
	t := table{Columns: []tableColumn{
		f.column("provider", false), f.column("results", true),
		{Key: "p50_seconds", Label: median.Name, Number: true},
		{Key: "p95_seconds", Label: rest.Name, Number: true},
	}}
	var rows []chart.Row
	for _, p := range f.numbers.Providers {
		r := p.Results
		t.Rows = append(t.Rows, []cell{{p.Name, p.Name}, f.count(r.Count), f.seconds(r.P50, r.Count), f.seconds(r.P95, r.Count)})
		if r.Count == 0 {
			continue
		}
		median.Values = append(median.Values, r.P50.Seconds())
		rest.Values = append(rest.Values, (r.P95 - r.P50).Seconds())
		rows = append(rows, chart.Row{Label: p.Name, Value: f.text("numbers.latency.row", f.took(r.P50), f.took(r.P95), f.Number(r.Count))})
	}
	c := f.chart("latency", chart.Durations(chart.Highest([]chart.Series{median, rest}, true), f.asDuration), f.asDuration, median, rest)
	return figure{Drawing: f.drawn(f.charts.Bars(chart.Bars{Chart: c, Rows: rows})), Table: t}
}

// failures shows, for each provider, the share of its calls that failed.
func (f *figures) failures() figure {
	failed := chart.Series{Name: f.text("numbers.failed"), Style: styleBad}
	t := table{Columns: []tableColumn{f.column("provider", false), f.column("calls", true), {Key: "failed", Label: failed.Name, Number: true}}}
	var rows []chart.Row
	for _, p := range f.numbers.Providers {
		calls := p.Results.Count + p.Failures
		t.Rows = append(t.Rows, []cell{{p.Name, p.Name}, f.count(calls), f.count(p.Failures)})
		failed.Values = append(failed.Values, 100*float64(p.Failures)/float64(max(calls, 1)))
		rows = append(rows, chart.Row{Label: p.Name, Value: f.text("numbers.failures.row", f.Number(p.Failures), f.Number(calls), f.part(p.Failures, calls))})
	}
	percent := func(v float64) string { return f.text("unit.percent", f.Number(int(v))) }
	c := f.chart("failures", chart.Counts(chart.Highest([]chart.Series{failed}, false), percent), percent, failed)
	return figure{Drawing: f.drawn(f.charts.Bars(chart.Bars{Chart: c, Rows: rows})), Table: t}
}
