// The fonts: embedded ones, and those of a directory that the host names.

package pdf

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

//go:embed fonts/*.ttf fonts/OFL.txt
var embedded embed.FS

// typeface is one font file. It is never changed, so all desks share it.
type typeface struct {
	name  string
	font  *font.Font
	scale float32 // from the font's units to thousandths of an em
}

// typefaces is every font there is, in the order in which a character looks
// for one: those of bold text, then those of regular text.
type typefaces struct {
	regular, bold   *typeface // Latin, Greek and Cyrillic: live text
	others, heavies []*typeface
}

// loadTypefaces parses the embedded fonts and those of the directory, which
// may be empty for none.
func loadTypefaces(dir string) (*typefaces, error) {
	t := &typefaces{}
	own, err := fs.Sub(embedded, "fonts")
	if err != nil {
		return nil, fmt.Errorf("open the embedded fonts: %w", err)
	}
	if err := t.load(own); err != nil {
		return nil, err
	}
	if dir != "" {
		if err := t.load(os.DirFS(dir)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// load adds the fonts of a folder in the order of their names. Of a collection
// it takes the first.
func (t *typefaces) load(folder fs.FS) error {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return fmt.Errorf("read the fonts: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if !slices.ContainsFunc([]string{".ttf", ".otf", ".ttc"}, func(ext string) bool {
			return strings.HasSuffix(strings.ToLower(name), ext)
		}) {
			continue
		}
		raw, err := fs.ReadFile(folder, name)
		if err != nil {
			return fmt.Errorf("read the font %s: %w", name, err)
		}
		face, err := parseTypeface(name, raw)
		if err != nil {
			return err
		}
		if face != nil {
			t.add(face)
		}
	}
	return nil
}

func (t *typefaces) add(face *typeface) {
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

// parseTypeface returns nil for a font of pictures: it has no outlines to print.
func parseTypeface(name string, raw []byte) (*typeface, error) {
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
	return &typeface{name: name, font: f, scale: 1000 / float32(f.Upem())}, nil
}

// live is the font of text that needs no shaping.
func (t *typefaces) live(bold bool) *typeface {
	if bold {
		return t.bold
	}
	return t.regular
}

// find returns the font that has a glyph for the character, or nil.
func (t *typefaces) find(r rune, bold bool) *typeface {
	has := func(f *typeface) bool { _, ok := f.font.NominalGlyph(r); return ok }
	if has(t.live(bold)) {
		return t.live(bold)
	}
	if bold {
		if i := slices.IndexFunc(t.heavies, has); i >= 0 {
			return t.heavies[i]
		}
	}
	if i := slices.IndexFunc(t.others, has); i >= 0 {
		return t.others[i]
	}
	if i := slices.IndexFunc(t.heavies, has); i >= 0 {
		return t.heavies[i]
	}
	return nil
}
