// Output: tables, or JSON.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification/store"
)

func (s *session) json(v any) error {
	out := json.NewEncoder(s.stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// say prints a line, or instead a value as JSON.
func (s *session) say(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return s.json(v)
	}
	_, err := fmt.Fprintf(s.stdout, format+"\n", args...)
	return err
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
// names of the columns, separated by spaces, are those of fields of the JSON.
func printList[T any](s *session, asJSON bool, items []T, names string) error {
	if asJSON {
		return s.json(append([]T{}, items...))
	}
	columns := strings.Fields(names)
	rows := make([][]string, len(items))
	for i, item := range items {
		var err error
		if rows[i], err = cells(item, columns); err != nil {
			return err
		}
	}
	return s.table(columns, rows)
}

// cells returns fields of the JSON of an item as text. A hash is shortened.
func cells(item any, columns []string) ([]string, error) {
	raw, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	if err := numbers.Decode(&fields); err != nil {
		return nil, err
	}
	return mapSlice(columns, func(column string) string {
		switch v := fields[strings.ToLower(column)].(type) {
		case nil:
			return ""
		case bool:
			return yesNo(v)
		case []any:
			return strings.Join(mapSlice(v, func(item any) string { return fmt.Sprint(item) }), ",")
		case string:
			if strings.HasSuffix(column, "_HASH") {
				return short(v)
			}
			return v
		default:
			return fmt.Sprint(v)
		}
	}), nil
}

// printPage prints a page as the API does, or as a table. A note on stderr says how
// to get the next page.
func printPage[T, J any](s *session, asJSON bool, p store.Page[T], convert func(T) J, names string) error {
	page := apitypes.NewPage(p, convert)
	if asJSON {
		return s.json(page)
	}
	if next := p.Offset + len(p.Data); next < p.Total {
		s.note(fmt.Sprintf("%d of %d are shown; use --offset %d for the next page", len(p.Data), p.Total, next))
	}
	return printList(s, false, page.Data, names)
}

// oneLine returns text on one line, with escapes, so that stored text can neither
// control the terminal nor hide. The columns of tables are as wide as the escaped text.
func oneLine(text string) string {
	if text == "" {
		return "-"
	}
	return cli.Escape(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text))
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
