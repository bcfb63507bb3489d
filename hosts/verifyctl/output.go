// What commands print: tables, or JSON.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/verifyd/verifyd/verification"
)

// json prints a value.
func (s *session) json(v any) error {
	out := json.NewEncoder(s.stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// table prints rows below a line of names, the columns parted by two spaces or
// more. An empty cell is a dash.
func (s *session) table(names []string, rows [][]string) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{names}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// facts prints names and values, a line each, and leaves out those without a
// value.
func (s *session) facts(lines ...[2]string) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintln(w, line[0]+"\t"+oneLine(line[1]))
		}
	}
	return w.Flush()
}

// oneLine keeps what somebody typed from moving the cursor of a terminal.
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

// more says on stderr that a page does not show all there is.
func more[T any](s *session, p verification.Page[T]) {
	if next := p.Offset + len(p.Data); next < p.Total {
		s.note(fmt.Sprintf("%d of %d are shown; --offset %d shows more", len(p.Data), p.Total, next))
	}
}

// pageJSON is a page, as the API writes one.
type pageJSON[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

func pageOf[From, To any](p verification.Page[From], shape func(From) To) pageJSON[To] {
	return pageJSON[To]{Data: shapes(p.Data, shape), Total: p.Total, Limit: p.Limit, Offset: p.Offset}
}

// shapes is never nil, so that an empty list is [].
func shapes[From, To any](from []From, shape func(From) To) []To {
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = shape(v)
	}
	return to
}

// moment is a time in whole seconds; null when it is zero.
type moment time.Time

// String is the time, or nothing.
func (m moment) String() string {
	if m.IsZero() {
		return ""
	}
	return time.Time(m).UTC().Format("2006-01-02T15:04:05Z")
}

// IsZero is for omitzero.
func (m moment) IsZero() bool { return time.Time(m).IsZero() }

// MarshalJSON writes the time, or null.
func (m moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(m.String())
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
