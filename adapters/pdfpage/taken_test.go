// Tests that an upload is taken if its first page can be drawn.

package pdfpage_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/adapters/pdfpage"
	"github.com/verifyd/verifyd/verification"
)

// taken returns what is kept of an upload.
func taken(t *testing.T, raw []byte) (kept []byte, ok bool) {
	t.Helper()
	_, content, err := media.Sanitize(t.Context(), bytes.NewReader(raw), nil)
	if err == nil {
		kept, err = io.ReadAll(content)
		err = errors.Join(err, content.Close())
	}
	if err != nil && !errors.Is(err, verification.ErrInvalid) {
		t.Fatal(err)
	}
	return kept, err == nil
}

// locked returns a PDF that is encrypted by pdfcpu; password may be empty.
func locked(t *testing.T, raw []byte, aes bool, bits int, password string) []byte {
	t.Helper()
	api.DisableConfigDir()
	conf := model.NewRC4Configuration(password, "owner", bits)
	if aes {
		conf = model.NewAESConfiguration(password, "owner", bits)
	}
	var b bytes.Buffer
	if err := api.Encrypt(bytes.NewReader(raw), &b, conf); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPDFIsTakenIfItsPageIsDrawn(t *testing.T) {
	d := pdfpage.NewShared(pdfpage.Options{})
	table := printed(t, heading)
	compressed := locked(t, table, true, 256, "") // pdfcpu writes a cross-reference stream
	protected := func(password string) []byte {
		return printed(t, func(p *gofpdf.Fpdf) {
			heading(p)
			p.SetProtection(gofpdf.CnProtectPrint, password, "owner")
		})
	}
	before := func(b []byte, text string) []byte { return b[:bytes.LastIndex(b, []byte(text))] }
	header := []byte("--b\r\nContent-Disposition: form-data\r\n\r\n")
	for name, c := range map[string]struct {
		raw  []byte
		want bool
	}{
		"whole":                              {table, true},
		"whole, with a stream":               {compressed, true},
		"after a byte order mark":            {append([]byte("\ufeff"), table...), true},
		"after the headers of a form":        {append(header, compressed...), true},
		"before zeros":                       {append(bytes.Clone(table), make([]byte, 5000)...), true},
		"without an end mark":                {before(table, "%%EOF"), true},
		"without the last lines":             {before(table, "startxref"), true},
		"without the last lines of a stream": {before(compressed, "startxref"), true},
		"half a trailer":                     {before(table, "/Root"), false},
		"half a stream":                      {compressed[:bytes.LastIndex(compressed, []byte("endstream"))-20], false},
		"half":                               {table[:len(table)/2], false},
		"RC4, 40 bits, open":                 {protected(""), true},
		"RC4, 40 bits, locked":               {protected("secret"), false},
		"RC4, 128 bits, open":                {locked(t, table, false, 128, ""), true},
		"RC4, 128 bits, locked":              {locked(t, table, false, 128, "secret"), false},
		"AES, 128 bits, open":                {locked(t, table, true, 128, ""), true},
		"AES, 128 bits, locked":              {locked(t, table, true, 128, "secret"), false},
		"AES, 256 bits, locked":              {locked(t, table, true, 256, "secret"), false},
	} {
		t.Run(name, func(t *testing.T) {
			kept, ok := taken(t, c.raw)
			if ok != c.want {
				t.Errorf("taken: %t, want %t", ok, c.want)
			}
			if !ok {
				kept = c.raw
			}
			if _, err := drawn(t, d, kept); (err == nil) != c.want {
				t.Errorf("drawn: %v, want an error: %t", err, !c.want)
			}
		})
	}
}
