// Tests of phone numbers.

package verification_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
)

func TestAPhoneNumberIsTakenAsPeoplePasteIt(t *testing.T) {
	for sent, want := range map[string]string{
		"+44 20 7946 0018":                "+44 20 7946 0018",
		"(020) 7946-0018":                 "(020) 7946-0018",
		"\u202d+44 20 7946 0018\u202c":    "+44 20 7946 0018", // a contact of Windows
		"\u2068+44 20 7946 0018\u2069":    "+44 20 7946 0018", // a message
		"\u200e+44\u200f20\ufeff79460018": "+442079460018",
		"+44\u00a020\u202f7946\u20090018": "+44 20 7946 0018", // a letterhead
		"+44\u201120\u20137946\u22120018": "+44-20-7946-0018",
		"+44-20-\u00ad7946\ufe0f-0018":    "+44-20-7946-0018",
		"01.23.45.67.89":                  "01 23 45 67 89", // the usual form of France
		"01·23·45·67·89":                  "01 23 45 67 89",
		"0475/12.34.56":                   "0475 12 34 56", // of Belgium
		"+49 35201/1234":                  "+49 35201 1234",
		"0049 35201/1234":                 "0049 35201 1234",
		"＋４４（２０）７９４６　００１８":                "+44(20)7946 0018",
		"[020] 7946 0018":                 "(020) 7946 0018",
		"(+44) 20 7946 0018":              "+44 20 7946 0018",
		"+44 (0) 20 7946 0018":            "+44 (0) 20 7946 0018",
		" \t+44  20 7946 0018\n":          "+44 20 7946 0018",
		"tel:+44-20-7946-0018":            "+44-20-7946-0018", // RFC 3966
		"TEL: +44%2020%207946%200018":     "+44 20 7946 0018",
		"९८७६५ ४३२१०":                     "98765 43210", // Devanagari, Arabic, Persian, Bengali, Tamil, Thai
		"٠١٢٣٤٥٦٧٨٩":                      "0123456789",
		"۰۱۲۳۴۵۶۷۸۹":                      "0123456789",
		"০১২৩৪৫৬৭৮৯":                      "0123456789",
		"௦௧௨௩௪௫௬௭௮௯":                      "0123456789",
		"๐๑๒๓๔๕๖๗๘๙":                      "0123456789",
	} {
		got, ok := verification.CleanPhone(sent)
		if !ok || got != want {
			t.Errorf("CleanPhone(%+q) = %+q, %t, want %+q", sent, got, ok, want)
		}
	}
}

func TestWhatIsNoSinglePhoneNumberIsRefused(t *testing.T) {
	for _, sent := range []string{
		"", "tel:", "none", "123456", "1234567890123456", "98765x43210", "+91 98765 43210 ext. 5", "tel:+44-20-7946-0018;ext=5",
		"91+98765432", "++919876543210", "+91 98765 43210, 98765 43211", "98765 43210\n98765 43211", "98765;43210", "½½½½½½½½", "Ⅷ2345678",
		"2345 6789/90", "022-2345 6789/90", "+91 22 2345 6789/6790", "2345678/2345679", "030/12", "030/1234/5678",
	} {
		if got, ok := verification.CleanPhone(sent); ok {
			t.Errorf("CleanPhone(%+q) = %+q, want it refused", sent, got)
		}
	}
}

func TestACleanPhoneNumberStaysAsItIs(t *testing.T) {
	marks := []rune("0123456789٣५৭\uff17++()[]-./\u2013\u00a0\u202a\u202c\u200b %x\n")
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.StringOfN(rapid.SampledFrom(marks), 1, 30, -1).Draw(t, "sent")
		clean, ok := verification.CleanPhone(sent)
		if !ok {
			return
		}
		if again, ok := verification.CleanPhone(clean); !ok || again != clean {
			t.Errorf("CleanPhone(%+q) = %+q, %t, want it as it is", clean, again, ok)
		}
		if left := strings.Trim(clean, "+0123456789 -()"); left != "" {
			t.Errorf("CleanPhone(%+q) = %+q, which has %q", sent, clean, left)
		}
		digits := func(s string) (digits string) {
			for _, r := range s {
				if unicode.IsDigit(r) {
					digits += verification.ASCIIDigits(string(r))
				}
			}
			return digits
		}
		if got, want := digits(clean), digits(strings.ReplaceAll(sent, "%20", "")); !strings.HasPrefix(sent, "tel:") && got != want {
			t.Errorf("CleanPhone(%+q) has the digits %s, want %s", sent, got, want)
		}
	})
}

func TestDigitsOfEveryScriptBecomeASCII(t *testing.T) {
	for _, r := range unicode.Nd.R16 {
		for c := r.Lo; c <= r.Hi; c++ {
			if got := verification.ASCIIDigits(string(rune(c))); got != string(rune('0'+(c-r.Lo)%10)) {
				t.Errorf("ASCIIDigits(%+q) = %q", rune(c), got)
			}
		}
	}
	if got := verification.ASCIIDigits("𑄹𑄼 ²½Ⅷ九a"); got != "36 ²½Ⅷ九a" {
		t.Errorf("ASCIIDigits = %q, want digits alone to change", got)
	}
}
