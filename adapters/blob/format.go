// The formats that are known, how they are told apart, and which are wanted.

package blob

import (
	"bytes"
	"slices"
	"strings"
)

// format is one kind of file.
type format struct {
	mediaType string
	name      string // as people call it
	begins    func(head []byte) bool
	keep      func(*stream) // from its first byte to its last
}

// longestHead is what it takes to know any format, in bytes.
const longestHead = 12

func formats() []format {
	return []format{
		{"image/jpeg", "JPEG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, keepJPEG},
		{"image/png", "PNG", func(head []byte) bool { return bytes.HasPrefix(head, []byte(pngSignature)) }, keepPNG},
		{"image/webp", "WebP", func(head []byte) bool {
			return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
		}, keepWebP},
		{"application/pdf", "PDF", func(head []byte) bool { return bytes.HasPrefix(head, []byte("%PDF-")) }, keepPDF},
	}
}

// admit finds the format of what comes and refuses what accept does not list.
// An empty accept lists every format.
func (s *stream) admit(accept []string) format {
	head, _ := s.in.Peek(longestHead) // less, when that is all there is
	if len(head) == 0 {
		s.fail(refuseEmpty)
		return format{}
	}
	wanted := slices.DeleteFunc(formats(), func(f format) bool { return !f.accepted(accept) })
	i := slices.IndexFunc(wanted, func(f format) bool { return f.begins(head) })
	if i < 0 {
		s.fail(refuseType(wanted))
		return format{}
	}
	return wanted[i]
}

// accepted tells whether a list of media types and patterns such as image/*
// has the format. The list is the author's of a workflow: letters may be of
// either case, and image/jpg is what many write.
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

// refuseType names the formats that would do: "must be a JPEG, PNG or PDF".
func refuseType(wanted []format) refusal {
	if len(wanted) == 0 {
		return "files of the wanted type cannot be taken"
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
