// What a PDF shows: whether it has a page of its own.

package media

import (
	"bytes"
	"compress/zlib"
	"io"
	"strconv"
)

const (
	maxPDFNodes  = 1000      // nodes of page trees that are kept
	maxPDFKids   = 8         // of a node that is kept: one with more has a page
	maxPDFStream = 256 << 10 // of an object stream, in bytes
	maxPDFObject = 1 << 20   // of an object stream that is unpacked, in bytes
	maxPDFPacked = 32 << 20  // of all object streams together, unpacked
)

// pdfShown is what the scan keeps of the catalogs and page trees of a PDF. Later revisions of an object
// replace earlier ones.
type pdfShown struct {
	root     pdfRef // of the last trailer
	catalogs map[int64]pdfDict
	nodes    map[int64][]int64 // the kids of the nodes of page trees that have few
	open     *pdfPacked        // the object stream that is being read
	unpacked int               // bytes
	unread   bool              // some objects were not read
}

// pdfPacked is an object stream (ISO 32000-2, 7.5.7).
type pdfPacked struct {
	pdfDict
	length int // 0 if it is not known
	text   []byte
}

// shows returns why the file shows nothing of its own: its pages are made by a reader of XFA forms, it only
// holds other files, or it has no page. A file whose catalog was not found is taken at its word.
func (s *pdfScan) shows() error {
	s.unpack()
	catalog, found := s.catalogs[int64(s.root)]
	if !found {
		return nil
	}
	switch {
	case catalog["NeedsRendering"] == true && catalog["AcroForm"] != nil:
		return refuseForm
	case catalog["Collection"] != nil:
		return refusePortfolio
	}
	pages, _ := catalog["Pages"].(pdfRef)
	if catalog["Pages"] == nil || pages != 0 && !s.unread && s.pageless(int64(pages), maxPDFDepth) {
		return refuseNoPage
	}
	return nil
}

// pageless reports whether a node of a page tree is known to have no page.
func (s *pdfScan) pageless(node int64, depth int) bool {
	kids, known := s.nodes[node]
	if !known || depth == 0 {
		return false
	}
	for _, kid := range kids {
		if !s.pageless(kid, depth-1) {
			return false
		}
	}
	return true
}

// keep keeps a catalog or a node of a page tree.
func (s *pdfScan) keep(d pdfDict, object int64) {
	if s.open != nil && s.open.length == 0 {
		s.unpack() // it stands before d
	}
	switch d["Type"] {
	case pdfName("Catalog"):
		if s.catalogs == nil {
			s.catalogs = map[int64]pdfDict{}
		}
		if _, known := s.catalogs[object]; known || len(s.catalogs) < maxPDFHandlers {
			s.catalogs[object] = d
		} else {
			s.unread = true
		}
	case pdfName("Pages"):
		kids, whole := d["Kids"].([]any)
		numbers := make([]int64, 0, maxPDFKids)
		for _, kid := range kids[:min(len(kids), maxPDFKids+1)] {
			ref, ok := kid.(pdfRef)
			whole = whole && ok
			numbers = append(numbers, int64(ref))
		}
		if s.nodes == nil {
			s.nodes = map[int64][]int64{}
		}
		delete(s.nodes, object)
		if whole && len(numbers) <= maxPDFKids {
			if len(s.nodes) < maxPDFNodes {
				s.nodes[object] = numbers
			}
		}
	}
}

// begin begins to read an object stream whose dictionary ends where the text begins.
func (s *pdfScan) begin(d pdfDict, text []byte) {
	s.unpack()
	text = bytes.TrimLeft(text, pdfSpace)
	data, ok := bytes.CutPrefix(text, []byte("stream"))
	length, _ := d["Length"].(int64)
	filters, several := d["Filter"].([]any)
	filter := d["Filter"]
	if several && len(filters) == 1 {
		filter = filters[0]
	}
	if !ok || filter != pdfName("FlateDecode") || d["DecodeParms"] != nil || length > maxPDFStream {
		s.unread = true
		return
	}
	data = bytes.TrimPrefix(bytes.TrimPrefix(data, []byte("\r")), []byte("\n"))
	s.open = &pdfPacked{pdfDict: d, length: int(max(0, length))}
	s.more(data)
}

// more reads the next bytes of the object stream.
func (s *pdfScan) more(p []byte) {
	if s.open == nil {
		return
	}
	most := maxPDFStream
	if s.open.length > 0 {
		most = s.open.length
	}
	s.open.text = append(s.open.text, p[:min(len(p), most-len(s.open.text))]...)
	if len(s.open.text) == most {
		s.unpack()
	}
}

// unpack reads the objects of the object stream that is being read.
func (s *pdfScan) unpack() {
	packed := s.open
	if s.open = nil; packed == nil {
		return
	}
	begin, _ := packed.pdfDict["First"].(int64)
	var text []byte
	if s.unpacked < maxPDFPacked {
		text = packed.unpacked()
		s.unpacked += len(text)
	}
	if begin <= 0 || begin > int64(len(text)) || len(text) > maxPDFObject {
		s.unread = true
		return
	}
	header := bytes.Fields(text[:begin])
	for i := 0; i+1 < len(header); i += 2 {
		number, err := strconv.ParseInt(string(header[i]), 10, 64)
		at, wrong := strconv.Atoi(string(header[i+1]))
		if err != nil || wrong != nil || at < 0 || at > len(text)-int(begin) {
			s.unread = true
			return
		}
		object := text[int(begin)+at:]
		if i+3 < len(header) {
			if end, err := strconv.Atoi(string(header[i+3])); err == nil && end > at && end-at < len(object) {
				object = object[:end-at]
			}
		}
		if object = object[:min(len(object), pdfBack+pdfAhead)]; !bytes.Contains(object, []byte("/Catalog")) && !bytes.Contains(object, []byte("/Kids")) {
			continue
		}
		r := pdfReader{text: object}
		if d, ok := r.value(0).(pdfDict); ok {
			s.keep(d, number)
		} else {
			s.unread = true
		}
	}
}

// unpacked returns the content of an object stream, or as much of it as can be read, and at most maxPDFObject + 1 bytes.
func (p *pdfPacked) unpacked() []byte {
	r, err := zlib.NewReader(bytes.NewReader(p.text))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(r, maxPDFObject+1)) // the stream may end where the next one begins
	return text
}
