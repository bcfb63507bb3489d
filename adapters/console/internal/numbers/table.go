// Tables: the values behind a chart, for pages and as CSV.

package numbers

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// table is the values of one chart.
type table struct {
	Columns []tableColumn
	Rows    [][]cell // the first cell names the row
}

type tableColumn struct {
	Key    string // the name in CSV, the same in every language
	Label  string
	Number bool
}

// cell is one value.
type cell struct {
	Text string // in the language of the reader
	Raw  string // in CSV: a plain number, seconds, or a day such as 2026-01-31
}

// byteOrderMark makes spreadsheets read the file as UTF-8.
const byteOrderMark = "\ufeff"

// writeCSV writes the table with one line for the columns.
func (t table) writeCSV(w io.Writer) error {
	if _, err := io.WriteString(w, byteOrderMark); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	out := csv.NewWriter(w)
	line := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		line = append(line, c.Key)
	}
	_ = out.Write(line) // Error returns what fails
	for _, row := range t.Rows {
		line = line[:0]
		for _, c := range row {
			line = append(line, inert(c.Raw))
		}
		_ = out.Write(line)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// inert returns a text that no spreadsheet takes for a formula: a text that begins
// like one gets an apostrophe in front.
func inert(s string) string {
	if strings.IndexAny(s, "=+-@\t\r\n") == 0 || strings.HasPrefix(s, "＝") || strings.HasPrefix(s, "＋") ||
		strings.HasPrefix(s, "－") || strings.HasPrefix(s, "＠") {
		return "'" + s
	}
	return s
}
