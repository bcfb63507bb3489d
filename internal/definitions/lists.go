// The lists of a bootstrap file, against which people and companies are screened.

package definitions

import (
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// List is a list of a bootstrap file.
type List struct {
	Name   string
	Path   string // relative to the working directory, or absolute
	Format string // as the schema names them; empty if the content decides
	// Columns are the names of the columns of a csv by their use, such as birth_date.
	Columns   map[string]string
	Kind      string        // of all entries of a csv; may be empty
	Delimiter string        // comma, semicolon, tab or pipe, of a csv; empty if its first line decides
	Encoding  string        // empty for UTF-8, or what the file says
	MaxAge    time.Duration // 0 for any

	at Diagnostic
}

// Problem returns a diagnostic at the path of the list.
func (l List) Problem(message string) Diagnostic {
	d := l.at
	d.Message = message
	return d
}

type listFields struct {
	Path        string            `json:"path"`
	Format      string            `json:"format"`
	Columns     map[string]string `json:"columns"`
	Kind        string            `json:"kind"`
	Delimiter   string            `json:"delimiter"`
	Encoding    string            `json:"encoding"`
	MaxAgeHours float64           `json:"max_age_hours"`
}

// lists reads the lists, in the order of their names.
func (b *bootstrapReader) lists(all map[string]listFields) []List {
	var out []List
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f, p := all[name], path{"lists", name}
		if _, _, at := b.root.locate([]string{"lists", name}); !matches(name, `[a-z0-9_-]{1,50}`) {
			b.add(b.file, at, p, "the name of a list has 1 to 50 lower-case letters, digits, _ and -")
		}
		b.check(f.Path != "", p, "path", "must not be empty")
		own := f.Format == "csv" || f.Format == ""
		b.check(f.Columns == nil || own, p, "columns", "only a list in the format csv has columns of its own")
		b.check(f.Kind == "" || own, p, "kind", "only a list in the format csv has entries of one kind")
		b.check(f.Delimiter == "" || own, p, "delimiter", "only a list in the format csv has a delimiter of its own")
		file := f.Path
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(b.file), file)
		}
		at, _ := b.root.find(append(p, "path").String())
		out = append(out, List{
			Name: name, Path: file, Format: f.Format, Columns: f.Columns, Kind: f.Kind, Delimiter: f.Delimiter, Encoding: f.Encoding,
			MaxAge: time.Duration(f.MaxAgeHours * float64(time.Hour)),
			at:     Diagnostic{File: b.file, Line: at.line, Column: at.column, Path: append(p, "path").String()},
		})
	}
	return out
}
