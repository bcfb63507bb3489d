package media_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/phpdave11/gofpdf"
)

const (
	formOnly  = "the PDF is a form that only Adobe Reader shows: print it as a PDF and send that"
	portfolio = "the PDF is a portfolio of other files: send each of them"
	noPage    = "the PDF has no page"
)

// objects are the objects of a PDF by their numbers, from 1 on. The first is the catalog.
type objects []string

// plain returns a PDF with the objects as they are.
func (o objects) plain() []byte {
	b := []byte("%PDF-1.7\n")
	for i, object := range o {
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n0\n%%%%EOF\n", len(o)+1)
}

// packed returns a PDF with the objects in an object stream. Its length stands in another object if it is not direct.
func (o objects) packed(t testing.TB, direct bool) []byte {
	t.Helper()
	var header, body strings.Builder
	for i, object := range o {
		fmt.Fprintf(&header, "%d %d ", i+1, body.Len())
		body.WriteString(object + "\n")
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write([]byte(header.String() + body.String())); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	length := "91 0 R"
	if direct {
		length = fmt.Sprint(packed.Len())
	}
	b := fmt.Appendf([]byte("%PDF-1.7\n"), "90 0 obj\n<</Type/ObjStm/N %d/First %d/Filter[/FlateDecode]/Length %s>>\nstream\r\n", len(o), header.Len(), length)
	b = append(append(b, packed.Bytes()...), "\nendstream\nendobj\n"...)
	b = fmt.Appendf(b, "91 0 obj %d endobj\n", packed.Len())
	return fmt.Appendf(b, "92 0 obj <</Type/XRef/Root 1 0 R/Length 0>> stream\nendstream endobj\nstartxref\n0\n%%%%EOF\n")
}

const (
	onePage  = "<</Type/Pages/Kids[3 0 R]/Count 1>>"
	leafPage = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]>>"
)

func TestAPDFThatShowsNothingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		objects
		message string // empty if the file is taken
	}{
		{"a page", objects{"<</Type/Catalog/Pages 2 0 R>>", onePage, leafPage}, ""},
		{"a form", objects{"<</Type/Catalog/Pages 2 0 R/AcroForm 4 0 R>>", onePage, leafPage, "<</Fields[]>>"}, ""},
		{"static XFA", objects{"<</Type/Catalog/Pages 2 0 R/AcroForm<</XFA 4 0 R/Fields[]>>>>", onePage, leafPage, "<</Length 0>>"}, ""},
		{"static XFA that says so", objects{"<</Pages 2 0 R/NeedsRendering false/AcroForm<</XFA 4 0 R>>/Type /Catalog>>", onePage, leafPage}, ""},
		{"dynamic XFA", objects{"<</Type/Catalog/Pages 2 0 R/AcroForm 4 0 R/NeedsRendering true/Extensions<</ADBE<</ExtensionLevel 8>>>>>>", onePage, leafPage, "<</XFA 5 0 R>>"}, formOnly},
		{"dynamic XFA, in another order", objects{"<<\n/NeedsRendering true\n/AcroForm <</XFA[(template) 5 0 R]>>\n/Pages 2 0 R /Type /Catalog >>", onePage, leafPage}, formOnly},
		{"a portfolio", objects{"<</Type/Catalog/Pages 2 0 R/Collection<</Type/Collection/View/T>>>>", onePage, leafPage}, portfolio},
		{"a portfolio whose view is another object", objects{"<</Type/Catalog/Pages 2 0 R/Collection 4 0 R>>", onePage, leafPage, "<</View/D>>"}, portfolio},
		{"attachments of an invoice", objects{"<</Type/Catalog/Pages 2 0 R/AF[4 0 R]/Names<</EmbeddedFiles<</Names[(a.xml) 4 0 R]>>>>>>", onePage, leafPage}, ""},
		{"no pages", objects{"<</Type/Catalog>>"}, noPage},
		{"an empty tree", objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"}, noPage},
		{"a tree of empty trees", objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 0>>", "<</Type/Pages/Kids[ ]>>", "<</Type/Pages/Kids[3 0 R]>>"}, noPage},
		{"a tree with one page far down", objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 0>>", "<</Type/Pages/Kids[ ]>>", "<</Type/Pages/Kids[5 0 R]>>", leafPage}, ""},
		{"a tree in a circle", objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R]>>"}, ""},
		{"many pages", objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[" + strings.Repeat("3 0 R ", 900) + "]/Count 900>>", leafPage}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, content := range [][]byte{
				c.plain(), c.packed(t, true), c.packed(t, false), join(make([]byte, 1000), c.plain()), join(c.plain()[:9], bytes.Repeat([]byte("% far\n"), 20_000), c.plain()[9:]),
			} {
				if c.message != "" {
					refused(t, c.message, content)
				} else {
					accepted(t, content)
				}
			}
		})
	}
}

func TestTheLastRevisionOfAPDFCounts(t *testing.T) {
	whole, empty := objects{"<</Type/Catalog/Pages 2 0 R>>", onePage, leafPage}, objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"}
	cover := objects{"<</Type/Catalog/Pages 2 0 R/Collection<<>>>>", onePage, leafPage}
	accepted(t, join(empty.plain(), whole.plain()[9:]))
	accepted(t, join(cover.plain(), whole.packed(t, true)[9:]))
	refused(t, noPage, join(whole.plain(), empty.plain()[9:]))
	refused(t, portfolio, join(whole.packed(t, true), cover.plain()[9:]))
	other := bytes.Replace(cover.plain(), []byte("1 0 obj"), []byte("7 0 obj"), 1) // a catalog that no trailer names any more
	accepted(t, join(other, whole.plain()[9:]))
}

// What cannot be read tells nothing against a file.
func TestAPDFWhoseObjectsAreHiddenIsTaken(t *testing.T) {
	empty := objects{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"}
	bomb := objects{"<</Type/Catalog>>" + strings.Repeat(" ", 2<<20)}
	accepted(t, bomb.packed(t, true))
	accepted(t, bytes.Replace(empty.packed(t, true), []byte("/FlateDecode"), []byte("/LZWDecode"), 1))
	accepted(t, bytes.Replace(empty.packed(t, true), []byte("/First "), []byte("/First 9"), 1))
	accepted(t, bytes.Replace(empty.packed(t, true), []byte("stream\r\n"), []byte("stream\r\n!"), 1))
	accepted(t, join(empty.plain(), bytes.Repeat([]byte("9 0 obj <</Kids[1 0 R]>> endobj\n"), 1000), []byte("%%EOF\n")))
}

func TestFilesOfOtherProgramsAreTakenOrRefused(t *testing.T) {
	api.DisableConfigDir()
	many := page(t, func(p *gofpdf.Fpdf) {
		for range 60 {
			p.AddPage()
		}
	})
	var optimized bytes.Buffer // it has object streams
	if err := api.Optimize(bytes.NewReader(many), &optimized, nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(optimized.Bytes(), []byte("/ObjStm")) {
		t.Fatal("the file has no object stream")
	}
	accepted(t, optimized.Bytes())
	attached := filepath.Join(t.TempDir(), "passport.txt")
	if err := os.WriteFile(attached, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, collection := range []bool{false, true} {
		var b bytes.Buffer
		if err := api.AddAttachments(bytes.NewReader(many), &b, []string{attached}, collection, nil); err != nil {
			t.Fatal(err)
		}
		if collection {
			refused(t, portfolio, b.Bytes())
		} else {
			accepted(t, b.Bytes())
		}
	}
}
