package pdf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/goregular"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAnyTextPrints(t *testing.T) {
	p := plain(t)
	for _, tt := range []struct {
		name, text string
		live       string // is printed as text and not as glyphs
		boxes      int
	}{
		{"latin", "Zażółć gęślą jaźń, ₹ 1,200", "Zażółć gęślą jaźń, ₹ 1,200", 0},
		{"greek and cyrillic", "Ελληνικά Кириллица", "Ελληνικά Кириллица", 0},
		{"vietnamese, decomposed", "Nguyễn", "Nguyễn", 0},
		{"a mark on its own", "x̄", "", 0},
		{"devanagari", "क्षेत्र की सत्यापन रिपोर्ट", "", 0},
		{"bengali", "পশ্চিমবঙ্গ", "", 0},
		{"gujarati", "ગુજરાત", "", 0},
		{"gurmukhi", "ਪੰਜਾਬ", "", 0},
		{"kannada", "ಕರ್ನಾಟಕ", "", 0},
		{"malayalam", "കേരളം", "", 0},
		{"oriya", "ଓଡ଼ିଶା", "", 0},
		{"tamil", "தமிழ்நாடு", "", 0},
		{"telugu", "ఆంధ్ర ప్రదేశ్", "", 0},
		{"thai", "กรุงเทพมหานคร", "", 0},
		{"arabic", "محمد عبد الله (test) 123", "", 0},
		{"hebrew", "שלום (world) 10%", "", 0},
		{"emoji", "ok 😀 ok", "ok � ok", 1},
		{"emoji of several characters", "a 👨‍👩‍👧 b 🇮🇳 c 👍🏽", "a � b � c �", 3},
		{"rare han", "a 𠀀 b", "a � b", 1},
		{"han and kana", "漢字かな", "����", 4},
		{"controls", "a\x00b\x07c\x1bd\u0085e", "a�b�c�d e", 3},
		{"white space", "a\tb\r\nc\u2028d\u3000e\u00a0f", "a b  c d e\u00a0f", 0},
		{"overrides", "a\u202eb\u202dc", "a�b�c", 2},
		{"isolates", "a\u2066b\u2067c\u2069d\u2068e\u2069\u2069f", "abcdef", 0},
		{"invisible characters", "a\u200bb\ufeffc\u00add\U000E0041e\ufe0ff", "abcdef", 0},
		{"not unicode", "a\xffb\xc3", "a�b�", 2},
		{"private use and not assigned", "a\ue000b\U0010FFFDc\u0378d", "a�b�c�d", 3},
		{"parentheses", `(a\b)) \`, `(a\b)) \`, 0},
		{"joiners alone", "\u200d\u200c\u200e\u200f", "", 0},
		{"a mark first", "\u0301\u0941", "", 0},
		{"so many marks", "Z" + strings.Repeat("\u0301", 500), "", 0},
		{"codes with line ends in them", "ഊ਍", "", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := render(t, p, with(tt.text))
			check(t, doc)
			got := text(t, doc)
			if !strings.Contains(got, tt.live) {
				t.Errorf("the document does not show %q", tt.live)
			}
			if n := strings.Count(got, "�"); n != tt.boxes && tt.boxes >= 0 {
				t.Errorf("the document shows %d boxes, want %d", n, tt.boxes)
			}
			// Every field with text.
			r := sample()
			r.Run.ID, r.Run.ReferenceID, r.Run.Status = verification.RunID(tt.text), tt.text, rules.Status(tt.text)
			r.Workflow = rules.ReportWorkflow{ID: verification.WorkflowID(tt.text), Name: tt.text, VersionHash: tt.text}
			r.Digest = tt.text
			r.Error = &rules.RunError{Code: rules.ErrorCode(tt.text), Check: tt.text, Message: tt.text}
			data, err := verification.NewData(map[string]any{strings.ToValidUTF8(strings.ReplaceAll(tt.text, "\x00", ""), ""): strings.ReplaceAll(tt.text, "\x00", "")})
			if err != nil {
				t.Fatal(err)
			}
			r.Cards[0] = rules.Card{
				NodeID: verification.NodeID(tt.text), Type: workflow.NodeType(tt.text), Key: tt.text, Label: tt.text,
				Status: rules.CardStatus(tt.text), Reason: tt.text, Data: data,
			}
			check(t, render(t, p, r))
		})
	}
}

func TestALongWordIsBrokenAndComplete(t *testing.T) {
	token := strings.Repeat("A1b2C3d4E5", 60)
	path := "https://example.com/" + strings.Repeat("segment-", 40) + "end?q=1"
	r := sample()
	r.Run.ReferenceID = strings.Repeat("W", 255)
	r.Cards[2].Data = verification.Data(`{"token":"` + token + `","path":"` + path + `"}`)
	doc := render(t, plain(t), r)
	check(t, doc)
	joined := strings.ReplaceAll(text(t, doc), "\n", "")
	for _, want := range []string{token, path, r.Run.ReferenceID} {
		if !strings.Contains(joined, want) {
			t.Errorf("the document does not contain all of %.20s...", want)
		}
	}
}

func TestFontDirAddsFonts(t *testing.T) {
	const face = "☺"
	if got := text(t, render(t, plain(t), with(face))); strings.Contains(got, face) {
		t.Fatal("an embedded font has the character: the test proves nothing")
	}
	dir := t.TempDir()
	for name, raw := range map[string][]byte{"Go-Regular.ttf": goregular.TTF, "README": []byte("not a font")} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := printer(t, pdf.Plain(pdf.Options{FontDir: dir, CacheBytes: -1}))
	doc := render(t, p, with(face))
	check(t, doc)
	if !strings.Contains(text(t, doc), face) {
		t.Error("the character of the added font is not shown")
	}
}

func TestFontDirMustBeReadable(t *testing.T) {
	if _, err := pdf.New(pdf.Options{FontDir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("New with a missing directory: want an error")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.ttf"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pdf.New(pdf.Options{FontDir: dir}); err == nil || !strings.Contains(err.Error(), "bad.ttf") {
		t.Errorf("New with a bad font = %v, want an error that names it", err)
	}
}
