// Fonts that packages of the system install, and the scripts that can be set.

package typeset

import (
	"os"
	"path/filepath"
	"sync"
	"unicode"
)

// InstalledFonts returns the font for Chinese, Japanese and Korean that a package of the
// system has installed, empty for none: fonts-noto-cjk of Debian and Ubuntu, font-noto-cjk of
// Alpine, noto-fonts-cjk of Arch, google-noto-sans-cjk-fonts of Fedora.
func InstalledFonts() string {
	for _, folder := range []string{"opentype/noto", "noto", "noto-cjk", "google-noto-cjk", "google-noto-sans-cjk-fonts"} {
		path := filepath.Join("/usr/share/fonts", folder, "NotoSansCJK-Regular.ttc")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// WithInstalled returns the fonts with one more, which is searched last, and for Chinese,
// Japanese and Korean only. It has 20 MB, so it is read when a text first needs it. An empty
// path adds none; a font that cannot be read has no characters.
func (t *Fonts) WithInstalled(path string) *Fonts {
	more := *t
	if path != "" {
		more.installed = sync.OnceValue(func() *fontFile {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			face, err := parseFont(filepath.Base(path), raw)
			if err != nil {
				return nil
			}
			return face
		})
	}
	return &more
}

// eastAsian reports whether a character may need the installed font.
func eastAsian(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF // punctuation, wide forms
}

// Scripts returns the names of the scripts of the world's official languages that the fonts
// have, and of those that they lack.
func (t *Fonts) Scripts() (has, lacks []string) {
	for _, s := range []struct {
		name   string
		letter rune
	}{
		{"Latin", 'A'},
		{"Greek", 'Ω'},
		{"Cyrillic", 'Ж'},
		{"Arabic", 'ع'},
		{"Hebrew", 'א'},
		{"Devanagari", 'क'},
		{"Bengali", 'ক'},
		{"Gujarati", 'ગ'},
		{"Gurmukhi", 'ਕ'},
		{"Kannada", 'ಕ'},
		{"Malayalam", 'ക'},
		{"Oriya", 'କ'},
		{"Tamil", 'க'},
		{"Telugu", 'క'},
		{"Thai", 'ก'},
		{"Chinese", '漢'},
		{"Japanese", 'か'},
		{"Korean", '한'},
		{"Armenian", 'Ա'},
		{"Georgian", 'ა'},
		{"Sinhala", 'ක'},
		{"Khmer", 'ក'},
		{"Lao", 'ກ'},
		{"Burmese", 'က'},
		{"Ethiopic", 'ሀ'},
		{"Tibetan", 'ཀ'},
		{"Thaana", 'ހ'},
	} {
		if t.installed != nil && eastAsian(s.letter) || t.find(s.letter, false) != nil {
			has = append(has, s.name)
		} else {
			lacks = append(lacks, s.name)
		}
	}
	return has, lacks
}
