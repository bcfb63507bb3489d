// Figures of the work: how runs were decided, and by whom.

package numbers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/chart"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/rules"
)

// maxBars is the maximum number of bars of a chart whose table may be longer.
const maxBars = 20

// runs shows how the runs of each day were decided, or ended without a decision.
func (f *figures) runs() figure {
	type kind struct {
		key   string // also of the column in CSV
		name  string
		count func(desk.DayNumbers) int
	}
	ended := func(status rules.Status) kind {
		return kind{string(status), f.text("status." + string(status)), func(d desk.DayNumbers) int { return d.Ended[status] }}
	}
	kinds := []kind{
		{"unaided", f.text("numbers.unaided"), func(d desk.DayNumbers) int { n, _ := unaided(d); return n }},
		{"unaided_refused", f.text("numbers.refused"), func(d desk.DayNumbers) int { _, n := unaided(d); return n }},
		{"approved", f.text("numbers.approved.by"), func(d desk.DayNumbers) int { return d.Approved }},
		{"rejected", f.text("numbers.rejected.by"), func(d desk.DayNumbers) int { return d.Rejected }},
		ended(rules.StatusFailed), ended(rules.StatusExpired), ended(rules.StatusCancelled),
	}
	t := table{Columns: []tableColumn{
		f.column("day", false), f.column("started", true),
		{Key: "completed", Label: f.text("status.completed"), Number: true},
	}}
	for _, k := range kinds {
		t.Columns = append(t.Columns, tableColumn{Key: k.key, Label: k.name, Number: true})
	}
	series := []chart.Series{
		{Name: kinds[0].name, Style: styleGood},
		{Name: kinds[1].name, Style: styleRefused},
		{Name: kinds[2].name, Style: styleUpper},
		{Name: kinds[3].name, Style: styleBad},
		{Name: kinds[4].name, Style: styleLate},
		{Name: f.text("numbers.gone"), Style: styleQuiet},
	}
	for _, d := range f.numbers.Days {
		day := d.Day.String()
		row := []cell{{day, day}, f.count(d.Started), f.count(d.Ended[rules.StatusCompleted])}
		values := make([]float64, len(series))
		for i, k := range kinds {
			n := k.count(d)
			row = append(row, f.count(n))
			values[min(i, len(series)-1)] += float64(n)
		}
		for i, v := range values {
			series[i].Values = append(series[i].Values, v)
		}
		t.Rows = append(t.Rows, row)
	}
	c := f.chart("runs", chart.Counts(chart.Highest(series, true), f.wholeNumber), f.wholeNumber, series...)
	return figure{Drawing: f.drawn(f.charts.Columns(f.plot(c))), Table: t}
}

// unaided returns the number of runs that were completed without a person, apart from those
// whose outcome is one of the usual words for a refusal.
func unaided(d desk.DayNumbers) (others, refused int) {
	for outcome, n := range d.Unaided {
		if b, _ := shell.OutcomeBadge(outcome); b.Tone == web.Bad {
			refused += n
		} else {
			others += n
		}
	}
	return others, refused
}

// outcomeCount counts the completed runs with an outcome.
type outcomeCount struct {
	Outcome        string // empty for none
	Count, Unaided int
}

// outcomeCounts returns the outcomes of all days, the most frequent first.
func (f *figures) outcomeCounts() []outcomeCount {
	all := map[string]outcomeCount{}
	for _, d := range f.numbers.Days {
		for outcome, n := range d.Outcomes {
			o := all[outcome]
			all[outcome] = outcomeCount{outcome, o.Count + n, o.Unaided + d.Unaided[outcome]}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b outcomeCount) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Outcome, b.Outcome))
	})
}

// outcome returns an outcome in the words of its workflow.
func (f *figures) outcome(name string) string {
	if name == "" {
		return f.text("numbers.outcomes.none")
	}
	return name
}

// outcomes shows the outcomes of the completed runs, and how many needed no person.
func (f *figures) outcomes() figure {
	alone := chart.Series{Name: f.text("numbers.unaided"), Style: styleGood}
	reviewed := chart.Series{Name: f.text("numbers.reviewed"), Style: styleQuiet}
	t := table{Columns: []tableColumn{
		f.column("outcome", false),
		{Key: "completed", Label: f.text("status.completed"), Number: true},
		{Key: "unaided", Label: alone.Name, Number: true},
	}}
	var rows []chart.Row
	for _, o := range f.outcomeCounts() {
		name := f.outcome(o.Outcome)
		t.Rows = append(t.Rows, []cell{{name, o.Outcome}, f.count(o.Count), f.count(o.Unaided)})
		alone.Values = append(alone.Values, float64(o.Unaided))
		reviewed.Values = append(reviewed.Values, float64(o.Count-o.Unaided))
		rows = append(rows, chart.Row{Label: name, Value: f.text("numbers.outcomes.row", f.Number(o.Count), f.part(o.Unaided, o.Count))})
	}
	return f.bars("outcomes", t, rows, alone, reviewed)
}

// checks shows how often each check did not pass.
func (f *figures) checks() figure {
	failed := chart.Series{Name: f.text("numbers.notpassed"), Style: styleBad}
	t := table{Columns: []tableColumn{
		f.column("check", false), f.column("results", true),
		{Key: "not_passed", Label: failed.Name, Number: true},
		f.column("hits", true),
	}}
	var rows []chart.Row
	for _, c := range f.numbers.Checks {
		results := c.Passed + c.Failed
		t.Rows = append(t.Rows, []cell{{c.Label, string(c.Node)}, f.count(results), f.count(c.Failed), f.count(c.Hits)})
		if c.Failed+c.Hits == 0 {
			continue
		}
		value := f.text("numbers.checks.row", f.Number(c.Failed), f.Number(results), f.part(c.Failed, results))
		if c.Hits > 0 {
			value += " · " + f.text("numbers.checks.hits", f.Number(c.Hits))
		}
		failed.Values = append(failed.Values, float64(c.Failed))
		rows = append(rows, chart.Row{Label: c.Label, Value: value})
	}
	return f.bars("checks", t, rows, failed)
}

// reasons shows the reasons of rejections.
func (f *figures) reasons() figure {
	counted := chart.Series{Name: f.text("numbers.rejections"), Style: styleBad}
	t := table{Columns: []tableColumn{f.column("reason", false), {Key: "rejections", Label: counted.Name, Number: true}}}
	var rows []chart.Row
	total := 0
	for _, r := range f.numbers.Reasons {
		total += r.Count
	}
	for _, r := range f.numbers.Reasons {
		label := cmp.Or(r.Reason.In(f.Lang()).Label, r.Reason.Code)
		t.Rows = append(t.Rows, []cell{{label, r.Reason.Code}, f.count(r.Count)})
		counted.Values = append(counted.Values, float64(r.Count))
		rows = append(rows, chart.Row{Label: label, Value: f.text("numbers.reasons.row", f.Number(r.Count), f.part(r.Count, total))})
	}
	return f.bars("reasons", t, rows, counted)
}

// reviewers shows the verdicts of each reviewer.
func (f *figures) reviewers() figure {
	approved := chart.Series{Name: f.text("numbers.approved"), Style: styleUpper}
	rejected := chart.Series{Name: f.text("numbers.rejected"), Style: styleBad}
	t := table{Columns: []tableColumn{f.column("reviewer", false), f.column("approved", true), f.column("rejected", true)}}
	var rows []chart.Row
	for _, r := range f.numbers.Reviewers {
		name := cell{r.Name, r.Name}
		switch {
		case r.Others:
			name = cell{f.text("numbers.reviewers.others"), "(others)"}
		case r.Name == "":
			name = cell{f.text("numbers.reviewers.api"), "(api)"}
		}
		t.Rows = append(t.Rows, []cell{name, f.count(r.Approved), f.count(r.Rejected)})
		approved.Values = append(approved.Values, float64(r.Approved))
		rejected.Values = append(rejected.Values, float64(r.Rejected))
		rows = append(rows, chart.Row{Label: name.Text, Value: f.text("numbers.reviewers.row", f.Number(r.Approved), f.Number(r.Rejected))})
	}
	return f.bars("reviewers", t, rows, approved, rejected)
}

// bars returns a figure of counts with one bar for each of the first rows.
func (f *figures) bars(name string, t table, rows []chart.Row, series ...chart.Series) figure {
	if len(rows) > maxBars {
		rows = rows[:maxBars]
	}
	c := f.chart(name, chart.Counts(chart.Highest(series, true), f.wholeNumber), f.wholeNumber, series...)
	return figure{Drawing: f.drawn(f.charts.Bars(chart.Bars{Chart: c, Rows: rows})), Table: t}
}
