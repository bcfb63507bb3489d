// The supported formats and how they are recognized.

package media

import (
	"bytes"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

type format struct {
	verification.FileType
	matches  func(head []byte) bool
	sanitize func(*stream)
}

// The bytes at the beginning that identify a HEIC image, and any format.
const (
	heicBytes = 12
	headBytes = pdfHead + len(pdfHeader)
)

// formats returns the format of each verification.FileType.
func formats() []format {
	all := make([]format, len(verification.FileTypes()))
	for i, t := range verification.FileTypes() {
		switch t.MediaType {
		case "image/jpeg":
			all[i] = format{t, func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, sanitizeJPEG}
		case "image/png":
			all[i] = format{t, func(head []byte) bool { return bytes.HasPrefix(head, []byte(pngSignature)) }, sanitizePNG}
		case "image/webp":
			all[i] = format{t, func(head []byte) bool {
				return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
			}, sanitizeWebP}
		case "application/pdf":
			all[i] = format{t, isPDF, sanitizePDF}
		}
	}
	return all
}

// recognize returns the format of the upload. It refuses a format that accept
// does not list; an empty accept lists every format.
func (s *stream) recognize(accept []string) format {
	head, _ := s.in.Peek(headBytes) // a shorter file is no error here
	if len(head) == 0 {
		s.fail(refuseEmpty)
		return format{}
	}
	wanted := slices.DeleteFunc(formats(), func(f format) bool { return !f.In(accept) })
	i := slices.IndexFunc(wanted, func(f format) bool { return f.matches(head) })
	if i < 0 && isHEIC(head) {
		s.fail(refuseHEIC)
		return format{}
	}
	if i < 0 {
		s.fail(refuseType(wanted))
		return format{}
	}
	return wanted[i]
}

// isHEIC reports whether a file begins as a HEIF container with an image, of which HEIC is
// the usual one.
func isHEIC(head []byte) bool {
	brands := []string{"heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "msf1"}
	return len(head) >= heicBytes && string(head[4:8]) == "ftyp" && slices.Contains(brands, string(head[8:12]))
}

// refuseType names the accepted formats: "must be a JPEG, PNG or PDF".
func refuseType(wanted []format) refusal {
	if len(wanted) == 0 {
		return "files of the required type are not supported"
	}
	var names []string
	for _, f := range wanted {
		names = append(names, f.Name)
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = strings.Join(names[:last], ", ") + " or " + list
	}
	return refusal("must be a " + list)
}
