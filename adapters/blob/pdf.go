// PDF: kept as it is, when it begins and ends as one.

package blob

import "bytes"

// pdfTail is how far before its end a PDF must say that it ends, in bytes; so
// far back a reader looks.
const pdfTail = 1024

// keepPDF refuses a file that was cut off, and one with another file behind it.
func keepPDF(s *stream) {
	head, err := s.in.Peek(len("%PDF-1.4"))
	if err != nil || head[5] != '1' && head[5] != '2' || head[6] != '.' || head[7] < '0' || head[7] > '9' {
		s.fail(refusePDF)
	}
	tail := make([]byte, 0, pdfTail+window)
	for p := range s.rest() {
		s.keep(p)
		tail = append(tail, p...)
		if extra := len(tail) - pdfTail; extra > 0 {
			tail = append(tail[:0], tail[extra:]...)
		}
	}
	if !bytes.Contains(tail, []byte("%%EOF")) {
		s.fail(refusePDF)
	}
}
