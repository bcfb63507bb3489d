// The supported formats and how they are recognized.

package media

import (
	"bytes"
	"slices"
	"strings"
)

type format struct {
	mediaType string
	name      string // for messages
	matches   func(head []byte) bool
	sanitize  func(*stream)
}

// headBytes is how many bytes identify any format.
const headBytes = 12

func formats() []format {
	return []format{
		{"image/jpeg", "JPEG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, sanitizeJPEG},
		{"image/png", "PNG", func(head []byte) bool { return bytes.HasPrefix(head, []byte(pngSignature)) }, sanitizePNG},
		{"image/webp", "WebP", func(head []byte) bool {
			return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
		}, sanitizeWebP},
		{"application/pdf", "PDF", func(head []byte) bool { return bytes.HasPrefix(head, []byte("%PDF-")) }, sanitizePDF},
	}
}

// recognize returns the format of the upload. It refuses a format that accept
// does not list; an empty accept lists every format.
func (s *stream) recognize(accept []string) format {
	head, _ := s.in.Peek(headBytes) // a shorter file is no error here
	if len(head) == 0 {
		s.fail(refuseEmpty)
		return format{}
	}
	wanted := slices.DeleteFunc(formats(), func(f format) bool { return !f.accepted(accept) })
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
	return len(head) >= headBytes && string(head[4:8]) == "ftyp" && slices.Contains(brands, string(head[8:12]))
}

// accepted reports whether a list of media types and patterns such as image/*
// contains the format. Workflow authors write the list, so case is ignored and
// the common misspelling image/jpg is allowed.
func (f format) accepted(accept []string) bool {
	kind, _, _ := strings.Cut(f.mediaType, "/")
	return len(accept) == 0 || slices.ContainsFunc(accept, func(a string) bool {
		switch a = strings.ToLower(strings.TrimSpace(a)); a {
		case f.mediaType, kind + "/*", "*/*":
			return true
		case "image/jpg":
			return f.mediaType == "image/jpeg"
		default:
			return false
		}
	})
}

// refuseType names the accepted formats: "must be a JPEG, PNG or PDF".
func refuseType(wanted []format) refusal {
	if len(wanted) == 0 {
		return "files of the required type are not supported"
	}
	var names []string
	for _, f := range wanted {
		names = append(names, f.name)
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = strings.Join(names[:last], ", ") + " or " + list
	}
	return refusal("must be a " + list)
}
