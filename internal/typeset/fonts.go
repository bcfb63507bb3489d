// Font files: the embedded ones, and those of a directory.

package typeset

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

//go:embed fonts/*.ttf fonts/OFL.txt
var embedded embed.FS

// fontFile is a parsed font file. It is immutable.
type fontFile struct {
	name  string
	font  *font.Font
	scale float32 // from units of the font to 1/1000 em
}

// Fonts holds all fonts in the order in which they are searched for a character.
// It is immutable.
type Fonts struct {
	regular, bold   *fontFile // Latin, Greek and Cyrillic
	others, heavies []*fontFile
	// The order of search for a character in regular and in bold text.
	regularOrder, boldOrder []*fontFile
	installed               func() *fontFile // see WithInstalled; nil for none
}

// LoadFonts parses the embedded fonts and the files (.ttf, .otf, .ttc) of a
// directory; empty for none. The files are searched after the embedded fonts, in
// the order of their names; bold text searches those that end in -Bold first.
func LoadFonts(dir string) (*Fonts, error) {
	t := &Fonts{}
	all, err := own()
	if err != nil {
		return nil, err
	}
	if dir != "" {
		more, err := parse(os.DirFS(dir))
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, more)
	}
	for _, face := range all {
		t.add(face)
	}
	t.regularOrder = slices.Concat([]*fontFile{t.regular}, t.others, t.heavies)
	t.boldOrder = slices.Concat([]*fontFile{t.bold}, t.heavies, t.others)
	return t, nil
}

// own returns the embedded fonts.
var own = sync.OnceValues(func() ([]*fontFile, error) { //nolint:gochecknoglobals // nothing changes them, and parsing takes milliseconds
	folder, err := fs.Sub(embedded, "fonts")
	if err != nil {
		return nil, fmt.Errorf("open the embedded fonts: %w", err)
	}
	return parse(folder)
})

// parse returns the fonts of a directory in the order of their names. Of a collection
// it uses the first.
func parse(folder fs.FS) ([]*fontFile, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, fmt.Errorf("read the fonts: %w", err)
	}
	var all []*fontFile
	for _, e := range entries {
		name := e.Name()
		if !slices.ContainsFunc([]string{".ttf", ".otf", ".ttc"}, func(ext string) bool {
			return strings.HasSuffix(strings.ToLower(name), ext)
		}) {
			continue
		}
		raw, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("read the font %s: %w", name, err)
		}
		face, err := parseFont(name, raw)
		if err != nil {
			return nil, err
		}
		if face != nil {
			all = append(all, face)
		}
	}
	return all, nil
}

func (t *Fonts) add(face *fontFile) {
	bold := strings.Contains(strings.ToLower(face.name), "-bold.")
	switch {
	case t.regular == nil && face.name == "NotoSans-Regular.ttf":
		t.regular = face
	case t.bold == nil && face.name == "NotoSans-Bold.ttf":
		t.bold = face
	case bold:
		t.heavies = append(t.heavies, face)
	default:
		t.others = append(t.others, face)
	}
}

// parseFont returns nil for a bitmap font, which has no outlines.
func parseFont(name string, raw []byte) (*fontFile, error) {
	loaders, err := opentype.NewLoaders(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("parse the font %s: %w", name, err)
	}
	if !slices.ContainsFunc([]string{"glyf", "CFF ", "CFF2"}, func(table string) bool {
		return loaders[0].HasTable(opentype.MustNewTag(table))
	}) {
		return nil, nil
	}
	f, err := font.NewFont(loaders[0])
	if err != nil {
		return nil, fmt.Errorf("parse the font %s: %w", name, err)
	}
	if f.Upem() == 0 {
		return nil, fmt.Errorf("parse the font %s: it has no size", name)
	}
	return &fontFile{name: name, font: f, scale: 1000 / float32(f.Upem())}, nil
}

// latin returns the font of text that needs no shaping.
func (t *Fonts) latin(bold bool) *fontFile {
	if bold {
		return t.bold
	}
	return t.regular
}

// find returns the first font that has a glyph for the character, or nil.
func (t *Fonts) find(r rune, bold bool) *fontFile {
	order := t.regularOrder
	if bold {
		order = t.boldOrder
	}
	for _, f := range order {
		if _, ok := f.font.NominalGlyph(r); ok {
			return f
		}
	}
	if t.installed != nil && eastAsian(r) {
		if f := t.installed(); f != nil {
			if _, ok := f.font.NominalGlyph(r); ok {
				return f
			}
		}
	}
	return nil
}
