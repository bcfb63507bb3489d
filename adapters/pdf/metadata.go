// What viewers and archives read of a document: title, language and metadata.

package pdf

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification/report"
)

// titleOf is the title of a document. A browser shows it, so it has no name of a person.
func titleOf(r report.Print) string {
	return strings.TrimSpace("Verification report " + plainText(r.Run.ReferenceID))
}

// plainText returns a text without what XML and the metadata of gofpdf cannot hold, at most
// limitName characters of it.
func plainText(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r >= 0xE000 && r <= 0xF8FF || r >= 0xFFFE {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if runes := []rune(clean); len(runes) > limitName {
		return string(runes[:limitName])
	}
	return clean
}

// described adds the language, the XMP metadata, what the codes of the fonts stand for and an
// identifier to a document of gofpdf, which has no setting for them: as an update after its
// end, as PDF provides for changes.
func described(doc []byte, r report.Print, created time.Time, fonts []*typeset.Subset, compress bool) ([]byte, error) {
	trailer := regexp.MustCompile(`trailer\n<<\n/Size (\d+)\n/Root (\d+) 0 R\n/Info (\d+) 0 R\n>>\nstartxref\n(\d+)\n%%EOF\n$`).FindSubmatch(doc)
	if trailer == nil {
		return nil, errors.New("the document has no trailer")
	}
	root, info, before := string(trailer[2]), string(trailer[3]), string(trailer[4])
	begin := bytes.LastIndex(doc, []byte("\n"+root+" 0 obj\n<<\n"))
	end := bytes.LastIndex(doc, []byte("\n>>\nendobj\n"))
	at := begin + len("\n"+root+" 0 obj\n<<\n")
	if begin < 0 || end < at {
		return nil, errors.New("the document has no catalog")
	}
	catalog := bytes.Clone(doc[at:end])
	size, err := strconv.Atoi(string(trailer[1]))
	if err != nil {
		return nil, fmt.Errorf("read the trailer: %w", err)
	}
	var xref []byte
	add := func(object, content string, stream []byte) {
		xref = fmt.Appendf(xref, "%s 1\n%010d 00000 n \n", object, len(doc))
		doc = fmt.Appendf(doc, "%s 0 obj\n%s\n", object, content)
		if stream != nil {
			doc = fmt.Appendf(doc, "stream\n%s\nendstream\n", stream)
		}
		doc = append(doc, "endobj\n"...)
	}
	for _, f := range fonts {
		texts := f.Texts()
		if texts == nil {
			continue
		}
		object := regexp.MustCompile(`/BaseFont /utf8` + f.Name() + `\n/Encoding /Identity-H\n/DescendantFonts \[\d+ 0 R\]\n/ToUnicode (\d+) 0 R`).FindSubmatch(doc)
		if object == nil {
			return nil, fmt.Errorf("the document does not have the font %s", f.Name())
		}
		content, filter := toUnicode(texts), ""
		if compress {
			content, filter = deflated(content), "/Filter /FlateDecode "
		}
		add(string(object[1]), fmt.Sprintf("<<%s/Length %d>>", filter, len(content)), content)
	}
	add(root, fmt.Sprintf("<<\n%s\n/Version /1.7\n/Lang (en)\n/ViewerPreferences <</DisplayDocTitle true>>\n/Metadata %d 0 R\n>>", catalog, size), nil)
	packet := xmp(r, created)
	add(strconv.Itoa(size), fmt.Sprintf("<</Type /Metadata /Subtype /XML /Length %d>>", len(packet)), packet)
	id := sha256.Sum256(doc)
	start := len(doc)
	return fmt.Appendf(doc, "xref\n%strailer\n<<\n/Size %d\n/Root %s 0 R\n/Info %s 0 R\n/Prev %s\n/ID [<%x> <%x>]\n>>\nstartxref\n%d\n%%%%EOF\n",
		xref, size+1, root, info, before, id[:16], id[:16], start), nil
}

// toUnicode returns a CMap with the character that each code of a font stands for.
func toUnicode(texts map[rune]rune) []byte {
	cmap := []byte("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	const most = 100 // in one block
	for codes := range slices.Chunk(slices.Sorted(maps.Keys(texts)), most) {
		cmap = fmt.Appendf(cmap, "%d beginbfchar\n", len(codes))
		for _, code := range codes {
			cmap = fmt.Appendf(cmap, "<%04X> <", code)
			for _, unit := range utf16.AppendRune(nil, texts[code]) {
				cmap = fmt.Appendf(cmap, "%04X", unit)
			}
			cmap = append(cmap, ">\n"...)
		}
		cmap = append(cmap, "endbfchar\n"...)
	}
	return append(cmap, "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend"...)
}

func deflated(content []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(content) // a buffer does not fail
	_ = w.Close()
	return b.Bytes()
}

// xmp returns the metadata of a document as XML.
func xmp(r report.Print, created time.Time) []byte {
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a builder does not fail
		return b.String()
	}
	at := created.UTC().Format(time.RFC3339)
	return fmt.Appendf(nil, `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:description>
<dc:creator><rdf:Seq><rdf:li>%s</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>en</rdf:li></rdf:Bag></dc:language>
<dc:identifier>%s</dc:identifier>
<xmp:CreatorTool>verifyd</xmp:CreatorTool><xmp:CreateDate>%s</xmp:CreateDate><xmp:ModifyDate>%s</xmp:ModifyDate>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>`,
		text(titleOf(r)), text(plainText(r.Workflow.Name)), text(plainText(r.Letterhead.Name)), text(plainText(string(r.Run.ID))), at, at)
}
