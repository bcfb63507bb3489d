// The files that the tests draw.

package pdfpage_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"strings"
	"testing"

	"github.com/phpdave11/gofpdf"
)

// printed returns an A4 page that fill fills.
func printed(t testing.TB, fill func(p *gofpdf.Fpdf)) []byte {
	t.Helper()
	p := gofpdf.New("P", "mm", "A4", "")
	p.AddPage()
	p.SetFont("Helvetica", "", 60)
	fill(p)
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// produced returns a page with a heading and a dark bar, which another program printed.
func produced(t testing.TB, program string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + program + ".pdf")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// heading writes a text into the upper quarter of the page.
func heading(p *gofpdf.Fpdf) { p.Text(20, 50, "BANK STATEMENT") }

// scan returns a page that is one image, black in its upper quarter.
func scan(t testing.TB, width, height int) []byte {
	t.Helper()
	i := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			if y > height/4 {
				i.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, i, nil); err != nil {
		t.Fatal(err)
	}
	return printed(t, func(p *gofpdf.Fpdf) {
		p.RegisterImageOptionsReader("scan", gofpdf.ImageOptions{ImageType: "JPG"}, &b)
		p.ImageOptions("scan", 0, 0, 210, 297, false, gofpdf.ImageOptions{}, 0, "")
	})
}

// made returns a PDF of objects, numbered from 1. The first one is the catalog.
func made(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, 0, len(objects))
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.Bytes()
}

// stream returns a stream object of a compressed content.
func stream(entries, content string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(content)) // into memory
	_ = w.Close()
	return fmt.Sprintf("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", entries, b.Len(), b.String())
}

// paged returns a PDF with one page, which has more entries and a content; objects follow
// it from number 5.
func paged(entries, content string, objects ...string) []byte {
	return made(append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R " + entries + " >>",
		stream("", content),
	}, objects...)...)
}

const (
	a4  = "/MediaBox [0 0 595 842] "
	top = "0 632 595 210 re f" // fills the upper quarter of a4
)

// pages returns a PDF with n pages.
func pages(n int) []byte {
	objects := []string{"", "", stream("", top)}
	var kids strings.Builder
	for i := range n {
		fmt.Fprintf(&kids, "%d 0 R ", i+4)
		objects = append(objects, "<</Type/Page/Parent 2 0 R/Contents 3 0 R>>")
	}
	objects[0] = "<< /Type /Catalog /Pages 2 0 R >>"
	objects[1] = fmt.Sprintf("<< /Type /Pages %s /Kids [%s] /Count %d >>", a4, kids.String(), n)
	return made(objects...)
}

// form returns a form with one field, which is filled with black.
func form() []byte {
	return made(
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [4 0 R] >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R "+a4+"/Annots [4 0 R] >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Asha) /F 4 /P 3 0 R /Rect [0 632 595 842] /AP << /N 5 0 R >> >>",
		stream("/Type /XObject /Subtype /Form /BBox [0 0 595 210] /Resources << >>", "0 0 595 210 re f"),
	)
}
