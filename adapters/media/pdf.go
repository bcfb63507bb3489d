// PDF: copied from its header on, if readers can open it without a password and see a page.

package media

import "bytes"

const (
	pdfHeader = "%PDF-"
	// pdfHead is how many bytes may stand before the header, and pdfTail how many behind the
	// end mark of a file that is taken at its word. Readers look equally far.
	pdfHead = 1024
	pdfTail = 1024
)

// isPDF reports whether a file has the header of a PDF where readers look for it.
func isPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), pdfHead+len(pdfHeader))], []byte(pdfHeader))
}

// sanitizePDF drops what stands before the header, such as a byte order mark or the headers
// of a form: readers count from the header. A file without an end mark in its last bytes was
// cut off, or other bytes follow: readers find its objects all the same, if it has a trailer.
func sanitizePDF(s *stream) {
	head, _ := s.in.Peek(pdfHead + len(pdfHeader)) // a shorter file is no error here
	before := bytes.Index(head, []byte(pdfHeader))
	s.skip(int64(before))
	version, err := s.in.Peek(len(pdfHeader + "1.4"))
	if err != nil || version[5] != '1' && version[5] != '2' || version[6] != '.' || version[7] < '0' || version[7] > '9' {
		s.fail(refusePDF)
	}
	var scan pdfScan
	tail := make([]byte, 0, pdfTail+window)
	for p := range s.chunks(toEnd) {
		s.write(p)
		scan.add(p)
		tail = append(tail, p...)
		if extra := len(tail) - pdfTail; extra > 0 {
			tail = append(tail[:0], tail[extra:]...)
		}
	}
	scan.end()
	if ends := bytes.Contains(tail, []byte("%%EOF")); (before > 0 || !ends) && !scan.repairable() {
		s.fail(refusePDF)
	}
	if err := scan.password(); err != nil {
		s.fail(err)
	}
	s.fail(scan.shows())
}
