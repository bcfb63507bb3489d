// Components: their data, and the templates that render them.

package web

import (
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed component/*.html
var components embed.FS

// Tone says what a badge or a note means. The text says the same, because not everyone
// can distinguish the colours. The values are classes of web.css.
type Tone string

// The tones.
const (
	Neutral Tone = ""
	Info    Tone = "info"
	Good    Tone = "good"
	Warning Tone = "warning"
	Bad     Tone = "bad"
)

// Badge is a short state, such as "Overdue". The template is "badge".
type Badge struct {
	Tone Tone
	Text string
	Icon string // the name of an icon; may be empty
}

// Note is a sentence above the content of a page. The template is "note".
type Note struct {
	Tone Tone
	Text string
}

// Summary lists the problems of a form above it. The template is "summary". It takes
// the focus when the page is loaded.
type Summary struct {
	Title    string
	Problems []Problem
}

// Problem is one line of a Summary.
type Problem struct {
	Target string // the id of the input; empty for the whole form
	Label  string // of the input
	Text   string
}

// Line returns the label and the text, with a colon between them unless the label
// ends with punctuation of its own.
func (p Problem) Line() string {
	last, _ := utf8.DecodeLastRuneInString(p.Label)
	switch {
	case p.Label == "":
		return p.Text
	case unicode.IsPunct(last) && !strings.ContainsRune(")]}\"'”’", last):
		return p.Label + " " + p.Text
	}
	return p.Label + ": " + p.Text
}

// Pager leads through the pages of a list. The template is "pager".
type Pager struct {
	Label          string // names the navigation, such as "Pages"
	Text           string // such as "51 to 100 of 312"
	Previous, Next string // the texts of the links
	PreviousURL    string // empty on the first page
	NextURL        string // empty on the last page
}

// Empty is shown in place of a list without entries. The template is "empty".
type Empty struct {
	Icon  string // the name of an icon
	Title string
	Text  string // may be empty
}

// Templates returns the templates of the components and of the files of own that match
// the patterns. Besides funcs they have the function icon, as in {{icon "search"}}.
func Templates(own fs.FS, funcs template.FuncMap, patterns ...string) (*template.Template, error) {
	all := template.FuncMap{"icon": icon}
	maps.Copy(all, funcs)
	t, err := template.New("").Funcs(all).ParseFS(components, "component/*.html")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(own, patterns...)
}
