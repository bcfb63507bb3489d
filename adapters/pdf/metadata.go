// What viewers and archives read of a document: title, language and metadata.

package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// titleOf is the title of a document. A browser shows it, so it has no name of a person.
func titleOf(r verification.Print) string {
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

// described adds the language, the XMP metadata and an identifier to a document of gofpdf, which
// has no setting for them: as an update after its end, as PDF provides for changes.
func described(doc []byte, r verification.Print, created time.Time) ([]byte, error) {
	trailer := regexp.MustCompile(`trailer\n<<\n/Size (\d+)\n/Root (\d+) 0 R\n/Info (\d+) 0 R\n>>\nstartxref\n(\d+)\n%%EOF\n$`).FindSubmatch(doc)
	if trailer == nil {
		return nil, errors.New("the document has no trailer")
	}
	size, err := strconv.Atoi(string(trailer[1]))
	if err != nil {
		return nil, fmt.Errorf("read the trailer: %w", err)
	}
	root, info, before := string(trailer[2]), string(trailer[3]), string(trailer[4])
	begin := bytes.LastIndex(doc, []byte("\n"+root+" 0 obj\n<<\n"))
	end := bytes.LastIndex(doc, []byte("\n>>\nendobj\n"))
	at := begin + len("\n"+root+" 0 obj\n<<\n")
	if begin < 0 || end < at {
		return nil, errors.New("the document has no catalog")
	}
	catalog := bytes.Clone(doc[at:end])
	packet := xmp(r, created)
	rootAt := len(doc)
	doc = fmt.Appendf(doc, "%s 0 obj\n<<\n%s\n/Version /1.7\n/Lang (en)\n/ViewerPreferences <</DisplayDocTitle true>>\n/Metadata %d 0 R\n>>\nendobj\n",
		root, catalog, size)
	packetAt := len(doc)
	doc = fmt.Appendf(doc, "%d 0 obj\n<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n%s\nendstream\nendobj\n", size, len(packet), packet)
	id := sha256.Sum256(doc)
	xref := len(doc)
	doc = fmt.Appendf(doc, "xref\n%s 1\n%010d 00000 n \n%d 1\n%010d 00000 n \n", root, rootAt, size, packetAt)
	return fmt.Appendf(doc, "trailer\n<<\n/Size %d\n/Root %s 0 R\n/Info %s 0 R\n/Prev %s\n/ID [<%x> <%x>]\n>>\nstartxref\n%d\n%%%%EOF\n",
		size+1, root, info, before, id[:16], id[:16], xref), nil
}

// xmp returns the metadata of a document as XML.
func xmp(r verification.Print, created time.Time) []byte {
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
