// The dictionaries by which readers open a PDF.

package media

import (
	"bytes"
	"strconv"
)

const (
	// pdfBack and pdfAhead are how far a dictionary reaches around a word in it, in bytes.
	// The dictionaries that are read are far shorter.
	pdfBack  = 4 << 10
	pdfAhead = 8 << 10

	maxPDFWords    = 1000 // that are looked at of each kind; most files have a few
	maxPDFHandlers = 16   // encryption dictionaries that are kept
)

// pdfScan finds the trailers, the catalogs, the page trees and the encryption dictionaries of a PDF by a word that each
// of them has, as readers do when they repair a file. Only catalogs and page trees may be compressed
// (ISO 32000-2, 7.5.7), so the file is read once, and only its object streams are decoded. The memory
// and time of a scan do not depend on what the file says.
type pdfScan struct {
	buf  []byte // what was read last
	from int    // the index in buf of what was not searched yet
	size int64
	seen [6]int // how often each of pdfWords was looked at

	trailer  bool  // there is one, or a cross-reference stream, with a catalog
	whole    int64 // the size of the file that the shortest of them needs
	linear   int64 // the size of a linearized file as it says itself
	encrypt  any   // of the last trailer: a dictionary, a reference or nil
	id       []byte
	handlers []pdfHandler
	pdfShown
}

// pdfHandler is an encryption dictionary and the number of its object.
type pdfHandler struct {
	object int64
	pdfDict
}

// pdfWords are the words that the scan looks for.
type pdfWords [6]string

// add reads the next bytes of the file.
func (s *pdfScan) add(p []byte) {
	s.size += int64(len(p))
	s.more(p)
	s.buf = append(s.buf, p...)
	s.search(len(s.buf) - pdfAhead)
	if drop := s.from - pdfBack; drop > 0 {
		s.buf = append(s.buf[:0], s.buf[drop:]...)
		s.from = pdfBack
	}
}

// end reads the end of the file.
func (s *pdfScan) end() { s.search(len(s.buf)) }

// repairable reports whether readers find the objects of the file, also if its last bytes
// are missing or others follow. A linearized file has a trailer at its beginning, too.
func (s *pdfScan) repairable() bool { return s.trailer && s.size >= s.whole && s.size >= s.linear }

// search looks at the words that begin before an index of buf, in their order.
func (s *pdfScan) search(end int) {
	if end <= s.from {
		return
	}
	words := pdfWords{"/Root", "/Standard", "/Linearized", "/Catalog", "/Kids", "/ObjStm"}
	var next [len(words)]int // where each word stands next, or end
	find := func(n, from int) {
		region := s.buf[:min(end+len(words[n])-1, len(s.buf))]
		if next[n] = end; from < len(region) && s.seen[n] < maxPDFWords {
			if i := bytes.Index(region[from:], []byte(words[n])); i >= 0 {
				next[n] = from + i
			}
		}
	}
	for n := range words {
		find(n, s.from)
	}
	for {
		first := 0
		for n := range words {
			if next[n] < next[first] {
				first = n
			}
		}
		if next[first] == end {
			break
		}
		s.seen[first]++
		s.unread = s.unread || s.seen[first] == maxPDFWords
		s.look(next[first])
		find(first, next[first]+1)
	}
	s.from = end
}

// look reads the dictionary around the word at an index of buf.
func (s *pdfScan) look(at int) {
	first := max(0, at-pdfBack)
	before := s.buf[first:at]
	for range 4 { // a string may contain the word that opens an object
		object, trailer := bytes.LastIndex(before, []byte("obj")), bytes.LastIndex(before, []byte("trailer"))
		open := max(object, trailer)
		if open < 0 {
			return
		}
		start := first + open + len("obj")
		if open == trailer {
			start = first + open + len("trailer")
		}
		r := pdfReader{text: s.buf[start:min(at+pdfAhead, len(s.buf))]}
		if d, ok := r.value(0).(pdfDict); ok && start+r.at > at {
			s.take(d, objectNumber(before[:open]), s.size-int64(len(s.buf)-start-r.at))
			if d["Type"] == pdfName("ObjStm") {
				s.begin(d, s.buf[start+r.at:])
			}
			return
		}
		before = before[:open]
	}
}

// take keeps what a dictionary says, which ends at a position in the file.
func (s *pdfScan) take(d pdfDict, object, end int64) {
	s.keep(d, object)
	if root, ok := d["Root"].(pdfRef); ok {
		s.root = root
		if length, ok := d["Length"].(int64); ok && d["Type"] == pdfName("XRef") {
			end += length // the objects may be compressed, and only the stream says where
		}
		if !s.trailer || end < s.whole {
			s.whole = end
		}
		ids, _ := d["ID"].([]any)
		s.trailer, s.encrypt, s.id = true, d["Encrypt"], nil
		if len(ids) > 0 {
			s.id, _ = ids[0].([]byte)
		}
	}
	if d["Filter"] == pdfName("Standard") {
		s.handlers = append(s.handlers, pdfHandler{object, d})
		s.handlers = s.handlers[max(0, len(s.handlers)-maxPDFHandlers):]
	}
	if length, ok := d["L"].(int64); ok && d["Linearized"] != nil {
		s.linear = length
	}
}

// objectNumber returns the number of the object that a text introduces, as in "6 0 obj"
// before its last word, or 0.
func objectNumber(before []byte) int64 {
	words := bytes.Fields(before[max(0, len(before)-40):])
	if len(words) < 2 {
		return 0
	}
	number := words[len(words)-2]
	digits := number[bytes.LastIndexFunc(number, func(r rune) bool { return r < '0' || r > '9' })+1:]
	n, _ := strconv.ParseInt(string(digits), 10, 64) // 0 for none
	return n
}
