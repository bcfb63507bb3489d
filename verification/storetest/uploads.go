// The clauses on what is uploaded, and the files that they send.

package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"reflect"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

func typeByContent(t documentTrial) {
	for n, c := range []struct {
		content []byte
		want    string
	}{{someJPEG(), "image/jpeg"}, {somePNG(), "image/png"}, {somePDF(0), "application/pdf"}} {
		d := upload(n)
		d.MediaType, d.Size, d.SHA256 = "text/html", 1, "of something else"
		got := t.keep(ourRun(1), d, nil, c.content)
		same(t.trial, "the media type", got.MediaType, c.want)
	}
}

func unknownTypes(t documentTrial) {
	for _, content := range []string{
		"", "x", prose, "<!DOCTYPE html><script>", "<svg/>", "MZ\x90\x00", "\x7fELF", "PK\x03\x04", "GIF", "\xff\xd8", "\x89PNG", "\n" + string(somePDF(0)),
	} {
		_ = t.refuse(fmt.Sprintf("%.20q", content), upload(1), nil, strings.NewReader(content))
	}
}

func acceptedTypes(t documentTrial) {
	for n, c := range []struct{ accept, pdf, jpeg string }{
		{"", "taken", "taken"},
		{"application/pdf", "taken", "refused"},
		{"image/png application/pdf", "taken", "refused"},
		{"image/jpeg", "refused", "taken"},
		{"image/*", "refused", "taken"},
		{"image/* application/*", "taken", "taken"},
		{"image/png", "refused", "refused"},
	} {
		accept := strings.Fields(c.accept)
		for i, content := range [][]byte{somePDF(0), someJPEG()} {
			if []string{c.pdf, c.jpeg}[i] == "taken" {
				t.keep(ourRun(1), upload(2*n+i), accept, content)
			} else {
				_ = t.refuse(fmt.Sprintf("%.8q where %q is accepted", content, accept), upload(2*n+i), accept, bytes.NewReader(content))
			}
		}
	}
}

func longDocuments(t documentTrial) {
	longest := somePDF(verification.MaxDocumentBytes)
	d := t.keep(ourRun(1), upload(1), nil, longest)
	same(t.trial, "the size", d.Size, verification.MaxDocumentBytes)
	t.holds(ourRun(1), d, longest)
	for _, more := range []int{1, 1 << 20} {
		_ = t.refuse("too long a PDF", upload(2), nil, bytes.NewReader(somePDF(verification.MaxDocumentBytes+more)))
	}
	// What an image has behind its end was sent, too.
	_ = t.refuse("too long a JPEG", upload(2), nil, io.MultiReader(bytes.NewReader(someJPEG()), bytes.NewReader(longest)))
}

func endlessDocument(t documentTrial) {
	const enough = verification.MaxDocumentBytes + 1<<20
	for what, head := range map[string][]byte{"a PDF": somePDF(0), "a JPEG": someJPEG()[:200], "nothing known": []byte("x")} {
		endless := &io.LimitedReader{R: io.MultiReader(bytes.NewReader(head), zeros{}), N: 2 * enough}
		_ = t.refuse(what+" without end", upload(1), nil, endless)
		if read := 2*enough - endless.N; read > enough {
			t.faultf("SaveDocument read %d bytes of %s without end, want at most %d", read, what, enough)
		}
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func brokenImages(t documentTrial) {
	for _, whole := range [][]byte{someJPEG(), somePNG()} {
		for _, n := range []int{len(whole) / 2, 30, 12} {
			_ = t.refuse(fmt.Sprintf("%.4q cut after %d bytes", whole, n), upload(1), nil, bytes.NewReader(whole[:n]))
		}
		_ = t.refuse(fmt.Sprintf("%.4q with zeros behind its head", whole), upload(1), nil, io.MultiReader(bytes.NewReader(whole[:12]), bytes.NewReader(make([]byte, 1000))))
	}
}

func hugeImages(t documentTrial) {
	_ = t.refuse("a JPEG of 60,000 by 60,000 pixels", upload(1), nil, bytes.NewReader(hugeJPEG()))
	_ = t.refuse("a PNG of 60,000 by 60,000 pixels", upload(1), nil, bytes.NewReader(hugePNG()))
}

func locatedJPEG(t documentTrial) {
	sent := located(someJPEG())
	d := t.keep(ourRun(1), upload(1), nil, sent)
	kept := t.kept(ourRun(1), d.ID)
	for what, where := range map[string]string{"Exif": whereExif, "XMP": whereXMP} {
		if bytes.Contains(kept, []byte(where)) {
			t.faultf("what is kept of a JPEG has the place of its %s, want it removed", what)
		}
	}
	got, want := pixels(kept), pixels(sent)
	if !t.over() && !reflect.DeepEqual(got, want) {
		t.faultf("what is kept of a JPEG with a place does not decode to the same pixels")
	}
}

func keptDigest(t documentTrial) {
	for n, content := range [][]byte{somePDF(0), somePNG(), somePDF(1 << 20), located(someJPEG())} {
		d := t.keep(ourRun(1), upload(n), nil, content)
		kept := t.kept(ourRun(1), d.ID)
		sum := sha256.Sum256(kept)
		same(t.trial, "the size", d.Size, int64(len(kept)))
		same(t.trial, "the digest", d.SHA256, hex.EncodeToString(sum[:]))
	}
}

// readerFunc reads by calling itself.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// somePDF is a PDF of one empty page. A comment makes it as long as wanted, if
// it is shorter.
func somePDF(length int) []byte {
	objects := []string{
		"<</Type /Catalog /Pages 2 0 R>>",
		"<</Type /Pages /Kids [3 0 R] /Count 1>>",
		"<</Type /Page /Parent 2 0 R /MediaBox [0 0 100 100]>>",
	}
	write := func(filling int) []byte {
		var b, xref bytes.Buffer
		fmt.Fprintf(&b, "%%PDF-1.4\n%%%s\n", strings.Repeat("x", filling))
		for i, o := range objects {
			fmt.Fprintf(&xref, "%010d 00000 n \n", b.Len())
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
		}
		fmt.Fprintf(&b, "xref\n0 4\n0000000000 65535 f \n%strailer\n<</Size 4 /Root 1 0 R>>\nstartxref\n%010d\n%%%%EOF\n", &xref, b.Len())
		return b.Bytes()
	}
	return write(max(0, length-len(write(0))))
}

func someImage() image.Image {
	m := image.NewRGBA(image.Rect(0, 0, 32, 24))
	for i := range 32 * 24 {
		m.Set(i%32, i/32, color.RGBA{uint8(i), uint8(i * 7), uint8(i / 3), 255})
	}
	return m
}

func someJPEG() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, someImage(), nil) // a buffer takes everything
	return b.Bytes()
}

func somePNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, someImage())
	return b.Bytes()
}

// hugeJPEG says that it has 60,000 by 60,000 pixels.
func hugeJPEG() []byte {
	b := someJPEG()
	frame := b[bytes.Index(b, []byte{0xff, 0xc0}):]
	binary.BigEndian.PutUint16(frame[5:], 60_000)
	binary.BigEndian.PutUint16(frame[7:], 60_000)
	return b
}

// hugePNG says that it has 60,000 by 60,000 pixels.
func hugePNG() []byte {
	b := somePNG()
	binary.BigEndian.PutUint32(b[16:], 60_000)
	binary.BigEndian.PutUint32(b[20:], 60_000)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

// Where the located JPEG was taken: 19 degrees, 4 minutes, 33.6 seconds north,
// as three fractions, and once more in words.
const (
	whereExif = "\x13\x00\x00\x00\x01\x00\x00\x00" + "\x04\x00\x00\x00\x01\x00\x00\x00" + "\x20\x0d\x00\x00\x64\x00\x00\x00"
	whereXMP  = `exif:GPSLatitude="19,4.56N"`
)

// located puts into a JPEG where it was taken.
func located(b []byte) []byte {
	exif := "Exif\x00\x00II*\x00\x08\x00\x00\x00" +
		"\x01\x00" + "\x25\x88\x04\x00\x01\x00\x00\x00\x1a\x00\x00\x00" + "\x00\x00\x00\x00" + // at 26: GPS
		"\x02\x00" + "\x01\x00\x02\x00\x02\x00\x00\x00N\x00\x00\x00" +
		"\x02\x00\x05\x00\x03\x00\x00\x00\x38\x00\x00\x00" + "\x00\x00\x00\x00" + whereExif // at 56
	xmp := "http://ns.adobe.com/xap/1.0/\x00" +
		`<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
		`<rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" ` + whereXMP + `/></rdf:RDF></x:xmpmeta>`
	out := bytes.Clone(b[:2])
	for _, segment := range []string{exif, xmp} {
		out = append(out, 0xff, 0xe1)
		out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
		out = append(out, segment...)
	}
	return append(out, b[2:]...)
}

// pixels decodes a JPEG; nil when it cannot be.
func pixels(b []byte) image.Image {
	m, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return m
}
