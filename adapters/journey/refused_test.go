// Tests of what is refused, and of what people paste, in a real browser.

package journey_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

// statement is a PDF to upload, which forbids copying; password may be empty.
func statement(t *testing.T, password string) string {
	t.Helper()
	p := gofpdf.New("P", "mm", "A4", "")
	p.SetProtection(gofpdf.CnProtectPrint, password, "owner")
	p.AddPage()
	path := filepath.Join(t.TempDir(), "statement.pdf")
	if err := p.OutputFileAndClose(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// collection is a PDF to upload that only holds other files.
func collection(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "collection.pdf")
	const content = "%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R/Collection<</View/T>>>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	for lang, says := range map[string]struct{ phone, number, file, collection string }{
		"en": {
			"Please write “Phone” as a phone number with its country or area code, such as +91\u00a098765\u00a043210. Leave out words, an extension and a second number.",
			"People read this number in two ways. Please write 1250 or 1.25.",
			"This PDF has a password: send it without. You can open it and print or save it as a new PDF.",
			"This PDF is a collection of other files. Please send each of these files on its own.",
		},
		"hi": {"दूसरा नंबर न लिखें", "1250 या 1.25", "इसे बिना पासवर्ड के भेजें", "हर फ़ाइल अलग से भेजें"},
	} {
		t.Run(lang, func(t *testing.T) {
			s := serve(t)
			c := s.begin(onboarding(), "")
			onward(t, c.post("consent", "success"))
			tab := browser.Start(t).Open(t, browser.Options{})
			see := func(want string) {
				t.Helper()
				tab.Wait("document.body.innerText.includes(" + strconv.Quote(want) + ")")
			}
			tab.Go(c.link + "?lang=" + lang)
			for id, value := range map[string]string{
				"name": "Asha Rao", "pan": "ABCDE1234F", "dob-day": "1", "dob-month": "4", "dob-year": "1990",
				"age": "1,250", "phone": "98765 43210, 98765 43211", "email": "asha@\u200bexample.com",
			} {
				tab.Set("#f-"+id, value)
			}
			tab.Press("#f-terms")
			tab.Press(onto)
			see(says.phone)
			see(says.number)
			tab.Shoot(filepath.Join(shots, "refused-phone-"+lang+".png"))
			tab.Set("#f-age", "36")
			tab.Set("#f-phone", "\u202a(+91) 98765\u00a043210\u202c")
			tab.Press(onto)
			tab.See("#f-front")
			if got := s.data(c, "details"); !strings.Contains(got, `"phone":"+91 98765 43210"`) || !strings.Contains(got, `"email":"asha@example.com"`) {
				t.Errorf("details = %s, want the phone number and the address as they are stored", got)
			}
			tab.Choose("#f-front", statement(t, "secret"))
			tab.Press(`input[name="f.where.denied"]`)
			tab.Press(onto)
			see(says.file)
			if ready := tab.Text(); strings.Contains(ready, "is ready") {
				t.Errorf("page = %s\nwant no word of a file that is ready", ready)
			}
			tab.Shoot(filepath.Join(shots, "refused-pdf-"+lang+".png"))
			tab.Choose("#f-front", collection(t))
			tab.Press(onto)
			see(says.collection)
			tab.Choose("#f-front", statement(t, ""))
			tab.Press(onto)
			tab.See(".sign.good")
			if got := s.data(c, "extra"); !strings.Contains(got, `"media_type":"application/pdf"`) {
				t.Errorf("extra = %s, want the PDF that opens", got)
			}
		})
	}
}

// Pictures of 16 by 16 grey pixels, each in one or two bits for a block: their samplings are
// rare, and the decoder of the standard library refuses them.
func TestABrowserShowsAPhotoOfARareSampling(t *testing.T) {
	tab := browser.Start(t).Open(t, browser.Options{})
	s := serve(t)
	for name, frame := range map[string]string{
		"2x1 1x1 2x1":     "\x03\x01\x21\x00\x02\x11\x00\x03\x21\x00",
		"2x2 1x2 2x1":     "\x03\x01\x22\x00\x02\x12\x00\x03\x21\x00",
		"1x1 1x1 2x1":     "\x03\x01\x11\x00\x02\x11\x00\x03\x21\x00",
		"2x2 1x1 1x1 1x1": "\x04\x01\x22\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00",
	} {
		n := frame[0]
		scan := string(n) + "\x01\x00\x02\x00\x03\x00\x04\x00"[:2*n] + "\x00\x3f\x00"
		const code = "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		segment := func(marker, body string) string {
			return "\xff" + marker + "\x00" + string([]byte{byte(len(body) + 2)}) + body
		}
		grey := "\xff\xd8" + segment("\xdb", "\x00"+strings.Repeat("\x01", 64)) + segment("\xc0", "\x08\x00\x10\x00\x10"+frame) +
			segment("\xc4", "\x00"+code) + segment("\xc4", "\x10"+code) + segment("\xda", scan) + strings.Repeat("\x00", 8) + "\xff\xd9"
		c := s.begin(onboarding(), "")
		reach(c, "uploads")
		path := filepath.Join(t.TempDir(), "rare.jpg")
		if err := os.WriteFile(path, []byte(grey), 0o600); err != nil {
			t.Fatal(err)
		}
		tab.Go(c.link)
		tab.Choose("#f-front", path)
		tab.Press(`input[name="f.where.denied"]`)
		tab.Press(onto)
		tab.See(".sign.good")
		if got := s.data(c, "extra"); !strings.Contains(got, `"media_type":"image/jpeg"`) {
			t.Errorf("%s: extra = %s, want the photo", name, got)
		}
		bytes := `Uint8Array.from(atob("` + base64.StdEncoding.EncodeToString([]byte(grey)) + `"), c => c.charCodeAt(0))`
		browser.Eval[bool](tab, `window.width = 0, createImageBitmap(new Blob([`+bytes+`])).then(i => width = i.width, () => width = -1), true`)
		tab.Wait("width !== 0")
		if width := browser.Eval[int](tab, "width"); width != 16 {
			t.Errorf("%s: a browser shows %d pixels, want 16", name, width)
		}
	}
}
