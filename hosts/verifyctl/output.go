// Output: tables, or JSON.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// json prints a value.
func (s *session) json(v any) error {
	out := json.NewEncoder(s.stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// table prints rows below a row of names. An empty cell is printed as a dash.
func (s *session) table(names []string, rows [][]string) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{names}, rows...) {
		fmt.Fprintln(w, strings.Join(mapSlice(row, oneLine), "\t"))
	}
	return w.Flush()
}

// attributes prints names and values, one on each line, without those whose value
// is empty.
func (s *session) attributes(lines ...[2]string) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintln(w, line[0]+"\t"+oneLine(line[1]))
		}
	}
	return w.Flush()
}

// printList prints items as a JSON array, or as a table with one row for each. The
// names of the columns are separated by spaces.
func printList[T, J any](s *session, asJSON bool, items []T, convert func(T) J, names string, row func(J) []string) error {
	list := mapSlice(items, convert)
	if asJSON {
		return s.json(list)
	}
	return s.table(strings.Fields(names), mapSlice(list, row))
}

// printPage prints a page as the API does, or as a table. A note on stderr says how
// to get the next page.
func printPage[T, J any](s *session, asJSON bool, p verification.Page[T], convert func(T) J, names string, row func(J) []string) error {
	page := apitypes.NewPage(p, convert)
	if asJSON {
		return s.json(page)
	}
	if next := p.Offset + len(p.Data); next < p.Total {
		s.note(fmt.Sprintf("%d of %d are shown; use --offset %d for the next page", len(p.Data), p.Total, next))
	}
	return s.table(strings.Fields(names), mapSlice(page.Data, row))
}

// oneLine replaces control characters, so that stored text cannot control the
// terminal.
func oneLine(text string) string {
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// mapSlice never returns nil, so that an empty list is printed as [].
func mapSlice[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = convert(v)
	}
	return to
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
