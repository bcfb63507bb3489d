package typeset_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-text/typesetting/font"
	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/typeset"
)

func typesetter(t testing.TB) *typeset.Typesetter {
	t.Helper()
	fonts, err := typeset.LoadFonts("")
	if err != nil {
		t.Fatal(err)
	}
	return typeset.NewShaper(fonts).New()
}

const bodySize = 9

// visual returns the text of a line from left to right.
func visual(ts *typeset.Typesetter, l typeset.Line) string {
	texts := map[string]map[rune]rune{}
	for _, s := range ts.Subsets() {
		texts[s.Name()] = s.Texts()
	}
	slices.SortStableFunc(l.Pieces, func(a, b typeset.Piece) int { return int(1000 * (a.X - b.X)) })
	var b strings.Builder
	for _, p := range l.Pieces {
		for _, code := range p.Text {
			if char, ok := texts[p.Font][code]; ok {
				code = char
			}
			b.WriteRune(code)
		}
	}
	return b.String()
}

func TestMixedDirectionsAreInVisualOrder(t *testing.T) {
	ts := typesetter(t)
	// A bracket in right-to-left text has the glyph of its counterpart.
	for _, tt := range []struct{ text, want string }{
		{"ab אבג cd", "ab גבא cd"},
		{"ab אבג 123 cd", "ab 123 גבא cd"},
		{"ab אבג 12, (34) cd", "ab )34( ,12 גבא cd"},
		{"ab אבג (cd) 10%", "ab גבא (cd) 10%"},
		{"אבג ab דה", "הד ab גבא"},
		{"אבג (ab) 12", "12 )ab( גבא"},
		{"אבג 12-34", "12-34 גבא"},
	} {
		if got := visual(ts, ts.Lines(tt.text, 100, typeset.Style{Size: bodySize}, 100)[0]); got != tt.want {
			t.Errorf("%q reads %q from left to right, want %q", tt.text, got, tt.want)
		}
	}
}

func TestLinesAreNotWiderThanTheirWidth(t *testing.T) {
	ts := typesetter(t)
	for _, text := range []string{
		"one two three four five six seven eight nine ten", strings.Repeat("wordless", 20),
		"https://example.com/a/long/path/of/a/document?with=parameters&more=parameters",
		"क्षेत्र की सत्यापन रिपोर्ट छत्रपति शिवाजी महाराज मार्ग", "محمد عبد الله علي حسن حسين", strings.Repeat("漢", 50),
	} {
		lines := ts.Lines(text, 1000, typeset.Style{Size: bodySize}, 30)
		if len(lines) < 2 {
			t.Errorf("%q is set in %d line, want several", text, len(lines))
		}
		for _, l := range lines {
			if l.Width > 30 {
				t.Errorf("a line of %q is %.1f mm wide, want at most 30", text, l.Width)
			}
		}
	}
}

func TestPlainTextIsUnchanged(t *testing.T) {
	ts := typesetter(t)
	const text = "Zażółć gęślą jaźń, ₹ 1,200 (Ελληνικά) Кириллица"
	lines := ts.Lines(text, 100, typeset.Style{Size: bodySize}, 200)
	if len(lines) != 1 || len(lines[0].Pieces) != 1 || lines[0].Pieces[0].Text != text {
		t.Errorf("lines = %+v, want one piece of the same text", lines)
	}
	if got := ts.Lines("", 100, typeset.Style{Size: bodySize}, 10); len(got) != 1 || got[0].Width != 0 {
		t.Errorf("lines of an empty text = %+v, want an empty one", got)
	}
}

func TestALimitIsNoted(t *testing.T) {
	ts := typesetter(t)
	lines := ts.Lines(strings.Repeat("x", 12_345), 10, typeset.Style{Size: bodySize}, 200)
	if got, want := visual(ts, lines[0]), strings.Repeat("x", 10)+"… (10 of 12,345 characters)"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
	cut := ts.Truncated("one two three four five six", 100, typeset.Style{Size: bodySize}, 15, 2)
	if len(cut) != 2 || !strings.HasSuffix(visual(ts, cut[1]), "…") {
		t.Errorf("lines = %+v, want two and an ellipsis", cut)
	}
}

func TestSubsetsHaveAllGlyphsOfTheText(t *testing.T) {
	ts := typesetter(t)
	used := map[string]map[rune]bool{}
	for _, text := range []string{"Latin", "क्षेत्र", "محمد", "กรุงเทพ", "漢 😀", "שלום", "தமிழ்"} {
		for _, bold := range []bool{false, true} {
			for _, l := range ts.Lines(text, 100, typeset.Style{Size: 9, Bold: bold}, 100) {
				for _, p := range l.Pieces {
					if used[p.Font] == nil {
						used[p.Font] = map[rune]bool{}
					}
					for _, r := range p.Text {
						used[p.Font][r] = true
					}
				}
			}
		}
	}
	subsets := ts.Subsets()
	if len(subsets) != len(used) {
		t.Errorf("there are %d fonts, want %d", len(subsets), len(used))
	}
	for _, s := range subsets {
		face, err := font.ParseTTF(bytes.NewReader(s.TrueType()))
		if err != nil {
			t.Errorf("%s cannot be parsed: %v", s.Name(), err)
			continue
		}
		for r := range used[s.Name()] {
			id, ok := face.NominalGlyph(r)
			if !ok || r != utf8.RuneError && r != ' ' && face.HorizontalAdvance(id) < 0 {
				t.Errorf("%s lacks %q", s.Name(), r)
			}
			if _, shaped := s.Texts()[r]; shaped != (r >= 0xE000 && r <= 0xF8FF) || r > 0xFFFF {
				t.Errorf("%s has %q, which gofpdf cannot write or which stands for no character", s.Name(), r)
			}
		}
		if again := s.TrueType(); !bytes.Equal(again, s.TrueType()) {
			t.Errorf("%s differs from one call to the next", s.Name())
		}
	}
}

// conjuncts returns every pair of consonants of a script of India, joined by its virama: a
// text for each first consonant.
func conjuncts(block rune) (texts []string) {
	const first, last, virama = 0x15, 0x39, 0x4D
	for a := block + first; a <= block+last; a++ {
		var words []string
		for b := block + first; b <= block+last; b++ {
			if unicode.IsLetter(a) && unicode.IsLetter(b) {
				words = append(words, norm.NFC.String(string([]rune{a, block + virama, b})))
			}
		}
		if len(words) > 0 {
			texts = append(texts, strings.Join(words, " "))
		}
	}
	return texts
}

func TestTextIsKeptWhateverTheShapes(t *testing.T) {
	ts := typesetter(t)
	all := []string{
		"प्रचण्ड", "क्षेत्रपाल", "श्री\u200cराम क्\u200dष", "कि", "মুখোপাধ্যায়", "কৌ", "கொண்டா ஸ்ரீ", "കൊച്ചി", "ಕೋ", "ଶ୍ରୀକୃଷ୍ଣ", "น้ำผึ้ง", "ਸ਼੍ਰੀ", "x̄", "নিৰ্মলা ৎ",
	}
	for _, block := range []rune{0x900, 0x980, 0xA00, 0xA80, 0xB00, 0xB80, 0xC00, 0xC80, 0xD00} {
		all = append(all, conjuncts(block)...)
	}
	if len(all) < 250 {
		t.Fatalf("there are %d texts, want the conjuncts of nine scripts", len(all))
	}
	for i, text := range all {
		all[i] = norm.NFC.String(text)
	}
	for _, text := range all {
		lines := ts.Lines(text, 1000, typeset.Style{Size: bodySize}, 2000)
		if got := visual(ts, lines[0]); len(lines) != 1 || got != text {
			t.Errorf("%q is copied as %q", text, got)
		}
	}
	for _, text := range []string{"محمد لاله", "مُحَمَّد عَبْدُ ٱللَّٰه", "מֹשֶׁה כהן", "غلام نبی می\u200cخواهم"} {
		want := []rune(norm.NFC.String(text))
		slices.Reverse(want)
		if got := visual(ts, ts.Lines(text, 100, typeset.Style{Size: bodySize}, 200)[0]); got != string(want) {
			t.Errorf("%q is copied from left to right as %q, want each character in its place", text, got)
		}
	}
}

// forms returns the outlines of the codes that stand for the characters of a text, in the order
// of the codes: whether each draws anything.
func forms(t *testing.T, text string) (drawn []bool, texts []rune) {
	t.Helper()
	ts := typesetter(t)
	ts.Lines(text, 100, typeset.Style{Size: bodySize}, 200)
	for _, s := range ts.Subsets() {
		face, err := font.ParseTTF(bytes.NewReader(s.TrueType()))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range slices.Sorted(maps.Keys(s.Texts())) {
			id, _ := face.NominalGlyph(code)
			outline, _ := face.GlyphDataOutline(id)
			drawn, texts = append(drawn, len(outline.Segments) > 0), append(texts, s.Texts()[code])
		}
	}
	return drawn, texts
}

func TestScriptsAreShaped(t *testing.T) {
	// The first character of a conjunct, or of a vowel sign before its consonant, draws all.
	for _, text := range []string{"क्ष", "कि"} {
		drawn, texts := forms(t, text)
		if string(texts) != text || !drawn[0] || slices.Contains(drawn[1:], true) {
			t.Errorf("%s is drawn by %t of %q, want the first one", text, drawn, texts)
		}
	}
	// A letter has another shape at each position in a word.
	if drawn, texts := forms(t, "بببب"); string(texts) != "ببب" || slices.Contains(drawn, false) {
		t.Errorf("the joined letters have the shapes of %q, %t, want three shapes", texts, drawn)
	}
	if drawn, texts := forms(t, "بببب ب"); strings.Count(string(texts), "ب") != 4 {
		t.Errorf("the letter alone is drawn by %q, %t, want a fourth shape", texts, drawn)
	}
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{
		"plain", "सत्यापन", "لم ينجح (code 42) abc 10%", "👨\u200d👩\u200d👧 𠀀 漢", "\x00\u202e\u2067\xff\u200d", "Z\u0301\u0301\u0941", "אבג 12, (34) cd",
	} {
		f.Add(text)
	}
	fonts, err := typeset.LoadFonts("")
	if err != nil {
		f.Fatal(err)
	}
	shaper := typeset.NewShaper(fonts)
	f.Fuzz(func(t *testing.T, text string) {
		ts := shaper.New()
		if lines := ts.Lines(text, 200, typeset.Style{Size: bodySize}, 40); len(lines) == 0 {
			t.Error("there is no line")
		}
		for _, s := range ts.Subsets() {
			if _, err := font.ParseTTF(bytes.NewReader(s.TrueType())); err != nil {
				t.Errorf("a font cannot be parsed: %v", err)
			}
		}
	})
}

func TestMissingCharactersAreReported(t *testing.T) {
	fonts, err := typeset.LoadFonts("")
	if err != nil {
		t.Fatal(err)
	}
	missing := func(f *typeset.Fonts) []rune {
		text := typeset.NewShaper(f).New()
		text.Lines("Asha 漢字 한 \u202e \x07", 100, typeset.Style{Size: 9}, 100)
		return text.Missing()
	}
	all := []rune{'字', '漢', '한'}
	if got := missing(fonts); !slices.Equal(got, all) {
		t.Errorf("the embedded fonts lack %q, want %q", got, all)
	}
	if got := missing(fonts.WithInstalled("/nowhere/font.ttc")); !slices.Equal(got, all) {
		t.Errorf("with a font that cannot be read, %q are missing, want %q", got, all)
	}
	path := typeset.InstalledFonts()
	if got := missing(fonts.WithInstalled(path)); path != "" && len(got) > 0 {
		t.Errorf("%s lacks %q", path, got)
	}
	if got, want := typeset.ScriptsOf(all), []string{"Han", "Hangul"}; !slices.Equal(got, want) {
		t.Errorf("ScriptsOf = %q, want %q", got, want)
	}
	if has, lacks := fonts.Scripts(); !slices.Contains(has, "Tamil") || !slices.Contains(lacks, "Korean") {
		t.Errorf("Scripts = %q, %q", has, lacks)
	}
}
