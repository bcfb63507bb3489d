// Tables of the checks: text files with columns that are separated by tabs.

package offline

import "strings"

// readTable returns the columns of every line of a table. Lines that begin with # say
// what the table has, its source and its version.
func readTable(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return lines
}
