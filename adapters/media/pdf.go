// PDF: copied unchanged if it starts and ends as a PDF does.

package media

import "bytes"

// pdfTail is how many bytes before its end a PDF must contain its end marker.
// PDF readers look equally far back.
const pdfTail = 1024

// sanitizePDF refuses a truncated PDF, and one that is followed by more than pdfTail bytes
// of another file.
func sanitizePDF(s *stream) {
	head, err := s.in.Peek(len("%PDF-1.4"))
	if err != nil || head[5] != '1' && head[5] != '2' || head[6] != '.' || head[7] < '0' || head[7] > '9' {
		s.fail(refusePDF)
	}
	tail := make([]byte, 0, pdfTail+window)
	for p := range s.chunks(toEnd) {
		s.write(p)
		tail = append(tail, p...)
		if extra := len(tail) - pdfTail; extra > 0 {
			tail = append(tail[:0], tail[extra:]...)
		}
	}
	if !bytes.Contains(tail, []byte("%%EOF")) {
		s.fail(refusePDF)
	}
}
