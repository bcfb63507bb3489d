// Tests of the text behind the picture, as another program reads it: PDFium, which is in
// Chrome and Edge.

package pdf_test

import (
	"io"
	"strings"
	"testing"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// reader returns a function that reads the text of a document with PDFium.
func reader(t *testing.T) func(doc []byte) string {
	t.Helper()
	pool, err := webassembly.Init(webassembly.Config{
		Context: t.Context(), MaxTotal: 1, Stdout: io.Discard, Stderr: io.Discard, FSConfig: wazero.NewFSConfig(),
		RuntimeConfig: wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	instance, err := pool.GetInstanceWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(doc []byte) string {
		file, err := instance.OpenDocument(&requests.OpenDocument{File: &doc})
		if err != nil {
			t.Fatal(err)
		}
		count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: file.Document})
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for i := range count.PageCount {
			page, err := instance.GetPageText(&requests.GetPageText{
				Page: requests.Page{ByIndex: &requests.PageByIndex{Document: file.Document, Index: i}},
			})
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(page.Text + "\n")
		}
		return strings.ReplaceAll(all.String(), "\r", "")
	}
}

// spoken are names and words in each script that the embedded fonts have, with ligatures,
// conjuncts, vowel signs in two parts, marks above others, and joiners.
func spoken() map[string][]string {
	return map[string][]string{
		"Latin":      {"Nguyễn Thị Hồng", "Łukasz Świętosławski", "José Müller-Þórsson", "x̄ y̌"},
		"Greek":      {"Αικατερίνη Ξυδάκη"},
		"Cyrillic":   {"Ђорђе Љубомировић", "Щербаков Йосип Їжакевич"},
		"Arabic":     {"عبد الإله الهلالي", "مُحَمَّدٌ", "لاله", "سَلَام"},
		"Urdu":       {"ظفر اللہ خان", "آصفہ پٹھان"},
		"Persian":    {"علی\u200cرضا پژمان", "می\u200cگویم"},
		"Hebrew":     {"בְּצַלְאֵל", "יהושע בן־נון", "שָׁלוֹם"},
		"Devanagari": {"प्रचण्ड", "लक्ष्मी त्रिपाठी", "विद्यार्थी", "हृदयेश", "श्री\u200cमान", "क्\u200dया", "र्\u200dहास"},
		"Bengali":    {"কৌশিক চৌধুরী", "ব্রজেন্দ্র", "লক্ষ্মী", "উৎপল", "নিৰ্মলা"},
		"Gujarati":   {"પ્રજ્ઞેશ ત્રિવેદી", "ક્ષિતિજ"},
		"Gurmukhi":   {"ਗੁਰਪ੍ਰੀਤ ਸਿੰਘ", "ਸ਼੍ਰੀ ਅੰਮ੍ਰਿਤਸਰ"},
		"Kannada":    {"ಕೋಟ್ರೇಶ್", "ಲಕ್ಷ್ಮೀಶ", "ಕೃಷ್ಣಪ್ಪ"},
		"Malayalam":  {"കൊച്ചുത്രേസ്യ", "ഗോപാലൻ", "അൽഫോൺസ്", "ന്റെ"},
		"Odia":       {"ଜଗନ୍ନାଥ ତ୍ରିପାଠୀ", "କୌଶଲ୍ୟା", "ଲକ୍ଷ୍ମୀ"},
		"Tamil":      {"ஶ்ரீதேவி", "கௌசல்யா", "கொற்றவை"},
		"Telugu":     {"కృష్ణమూర్తి", "లక్ష్మీనారాయణ", "జ్ఞానేశ్వర్"},
		"Thai":       {"สมชาย น้ำเพ็ชร", "ปู่ผึ้ง"},
		"numbers":    {"४००००१ मुंबई", "٠١٢٣", "৪২"},
	}
}

func TestAnotherReaderReadsEachName(t *testing.T) {
	read := reader(t)
	for script, names := range spoken() {
		data := map[string]any{}
		for _, name := range names {
			data[name] = norm.NFD.String(name)
		}
		r := sample()
		r.Subject, r.Letterhead = rules.Subject{Name: names[0]}, report.Letterhead{Name: names[len(names)-1]}
		r.Cards[2].Data, r.Cards[2].Label, r.Cards[2].Reason = verification.DataOf(data), names[0], strings.Join(names, "\n")
		got := norm.NFC.String(strings.Join(strings.Fields(read(render(t, plain(t), r))), " "))
		for _, name := range names {
			if n := strings.Count(got, norm.NFC.String(name)); n < 3 {
				t.Errorf("%s: another program finds %q %d times, want 3: as a label, a value and in a reason:\n%s", script, name, n, got)
			}
		}
	}
}
