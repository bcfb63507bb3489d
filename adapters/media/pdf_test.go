package media_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/phpdave11/gofpdf"
)

// page returns a PDF of one page.
func page(t testing.TB, with func(p *gofpdf.Fpdf)) []byte {
	t.Helper()
	p := gofpdf.New("P", "mm", "A4", "")
	p.AddPage()
	p.SetFont("Helvetica", "", 20)
	p.Text(20, 50, "Statement")
	with(p)
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plainPage(t testing.TB) []byte {
	t.Helper()
	return page(t, func(*gofpdf.Fpdf) {})
}

// encrypted returns a PDF of version 1 that is encrypted by pdfcpu; password may be empty.
func encrypted(t testing.TB, aes bool, bits int, password string) []byte {
	t.Helper()
	return encryptedPage(t, plainPage(t), aes, bits, password)
}

// revision6 returns an encrypted PDF of version 2.
func revision6(t testing.TB, password string) []byte {
	t.Helper()
	locked := encryptedPage(t, bytes.Replace(plainPage(t), []byte("%PDF-1.3"), []byte("%PDF-2.0"), 1), true, 256, password)
	if !regexp.MustCompile(`/R 6\b`).Match(locked) {
		t.Fatal("the file is of another revision")
	}
	return locked
}

func encryptedPage(t testing.TB, content []byte, aes bool, bits int, password string) []byte {
	t.Helper()
	api.DisableConfigDir()
	conf := model.NewRC4Configuration(password, "owner", bits)
	if aes {
		conf = model.NewAESConfiguration(password, "owner", bits)
	}
	var b bytes.Buffer
	if err := api.Encrypt(bytes.NewReader(content), &b, conf); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// revision5 returns the trailer and the encryption dictionary of a file of revision 5, which
// Acrobat 9 wrote: U is the SHA-256 of the password and a salt, the salt, and another one.
func revision5(password string) []byte {
	sum := sha256.Sum256([]byte(password + "validate"))
	return fmt.Appendf(nil, "%%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n6 0 obj\n<</Filter/Standard/V 5/R 5/Length 256/P -3904/O(%s)/U<%x>>>\nendobj\n"+
		"trailer <</Root 1 0 R/Encrypt 6 0 R>>\n%%%%EOF\n", strings.Repeat("o", 48), append(sum[:], "validatekeysalts"...))
}

const password = "the PDF has a password: send it without"

func TestAPDFWithAPasswordIsRefused(t *testing.T) {
	for name, lock := range map[string]func(password string) []byte{
		"RC4, 40 bits": func(password string) []byte {
			return page(t, func(p *gofpdf.Fpdf) { p.SetProtection(gofpdf.CnProtectPrint, password, "owner") })
		},
		"RC4, 128 bits": func(password string) []byte { return encrypted(t, false, 128, password) },
		"AES, 128 bits": func(password string) []byte { return encrypted(t, true, 128, password) },
		"AES, 256 bits": func(password string) []byte { return encrypted(t, true, 256, password) },
		"revision 5":    revision5,
		"revision 6":    func(password string) []byte { return revision6(t, password) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // salts, keys and their escapes are random
				locked, open := lock("secret"), lock("")
				if !bytes.Contains(locked, []byte("/Encrypt")) || !bytes.Contains(open, []byte("/Encrypt")) {
					t.Fatal("the file is not encrypted")
				}
				refused(t, password, locked)
				refused(t, password, join([]byte("\ufeff"), locked, make([]byte, 50_000)))
				if kept := accepted(t, open); !bytes.Equal(kept, open) {
					t.Errorf("kept %d bytes, want all %d", len(kept), len(open))
				}
			}
		})
	}
}

// The number of rounds of the hash of revision 6 depends on the data: a wrong bound shows in
// one file of thirty.
func TestEveryPDFAgainstCopyingIsTaken(t *testing.T) {
	for range 250 {
		accepted(t, revision6(t, ""))
	}
}

func TestAPDFIsTakenIfReadersOpenIt(t *testing.T) {
	plain := plainPage(t)
	end := bytes.LastIndex(plain, []byte("startxref"))
	for name, content := range map[string][]byte{
		"a byte order mark":               join([]byte("\ufeff"), plain),
		"an empty line":                   join([]byte("\r\n"), plain),
		"the headers of a form":           join([]byte("--b\r\nContent-Type: application/pdf\r\n\r\n"), plain, []byte("\r\n--b--\r\n")),
		"as much as readers skip":         join(make([]byte, 1024), plain),
		"zeros behind it":                 join(plain, make([]byte, 100_000)),
		"a page behind it":                join(plain, []byte("<html>"+strings.Repeat("<p>x</p>", 1000))),
		"no end mark":                     plain[:end],
		"half an end mark":                bytes.TrimRight(plain, "F\n"),
		"a trailer across two windows":    join([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("x"), 32<<10-25), []byte("\ntrailer <</Root 1 0 R>>")),
		"a name that looks like a string": join([]byte("%PDF-1.7\ntrailer <</Info(obj \\( \\) \\\\)/A[<</B<41 4>>>()]/Root 1 0 R>>")),
	} {
		t.Run(name, func(t *testing.T) {
			kept := accepted(t, content)
			if want := content[bytes.Index(content, []byte("%PDF-")):]; !bytes.Equal(kept, want) {
				t.Errorf("kept %d bytes, want the %d from the header on", len(kept), len(want))
			}
		})
	}
}

func TestAPDFThatNoReaderOpensIsRefused(t *testing.T) {
	const unreadable = "the PDF cannot be read"
	plain, cut := plainPage(t), func(b []byte, before string) []byte { return b[:bytes.LastIndex(b, []byte(before))] }
	stream := "%PDF-1.7\n7 0 obj <</Type/XRef/Root 1 0 R/Length 100>> stream\n"
	for name, content := range map[string][]byte{
		"one without its trailer":      cut(plain, "trailer"),
		"half a trailer":               cut(plain, "/Root"),
		"half a cross-reference":       []byte(stream + strings.Repeat("x", 90)),
		"half a linearized file":       []byte("%PDF-1.7\n1 0 obj <</Linearized 1/L 9000>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n" + strings.Repeat("x", 3000)),
		"a text with both marks":       []byte("A PDF begins with %PDF-1.4\nand ends with\n%%EOF\n"),
		"an unknown encryption":        []byte("%PDF-1.7\ntrailer <</Root 1 0 R/Encrypt<</Filter/Standard/R 9/O<" + strings.Repeat("00", 48) + ">/U<" + strings.Repeat("00", 48) + ">>>>>"),
		"an encryption without values": []byte("%PDF-1.7\ntrailer <</Root 1 0 R/Encrypt<</Filter/Standard/R 3>>>>"),
	} {
		t.Run(name, func(t *testing.T) { refused(t, unreadable, content) })
	}
	refused(t, "must be a JPEG, PNG, WebP or PDF", join(make([]byte, 1025), plain))
}

// A file in which every byte asks for work is read in the time of its bytes.
func TestAHostilePDFIsReadOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(34, 9))
	for _, word := range []string{"obj<<", "trailer<</Root", "/Root", "1 0 obj<</A[[[[(((/Standard", "<</Root<<", "/Root 1 0 R%"} {
		content := join([]byte("%PDF-1.7\n"), bytes.Repeat([]byte(word), 4<<20/len(word)), []byte("\n%%EOF\n"))
		accepted(t, content)
		for range 200 { // and in pieces that nobody wrote
			piece := content[:100+random.IntN(2000)]
			_, _, _ = sanitize(t.Context(), bytes.NewReader(join(piece[:10], piece[random.IntN(len(piece)):])))
		}
	}
}
