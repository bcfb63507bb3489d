// File types: what customers can upload.

package verification

import (
	"slices"
	"strings"
)

// FileType is a type of file that customers can upload.
type FileType struct {
	MediaType string // such as image/jpeg
	Name      string // for people, such as JPEG
	Extension string // of a file name, with its full stop
}

// FileTypes returns the types of files that customers can upload. A Sanitizer recognizes each
// of them by its content.
func FileTypes() []FileType {
	return []FileType{
		{"image/jpeg", "JPEG", ".jpg"},
		{"image/png", "PNG", ".png"},
		{"image/webp", "WebP", ".webp"},
		{"application/pdf", "PDF", ".pdf"},
	}
}

// FileTypeOf returns the type of a file by its media type, and whether customers can upload
// such files.
func FileTypeOf(mediaType string) (FileType, bool) {
	i := slices.IndexFunc(FileTypes(), func(t FileType) bool { return t.MediaType == mediaType })
	if i < 0 {
		return FileType{}, false
	}
	return FileTypes()[i], true
}

// Image reports whether files of the type are images.
func (t FileType) Image() bool { return strings.HasPrefix(t.MediaType, "image/") }

// In reports whether an workflow.InputField with this Accept takes files of the type: it lists the
// media type or a pattern such as image/*, or nothing. Authors of workflows write the list, so case is
// ignored and the common misspelling image/jpg is allowed.
func (t FileType) In(accept []string) bool {
	kind, _, _ := strings.Cut(t.MediaType, "/")
	return len(accept) == 0 || slices.ContainsFunc(accept, func(a string) bool {
		switch a = strings.ToLower(strings.TrimSpace(a)); a {
		case t.MediaType, kind + "/*", "*/*":
			return true
		case "image/jpg":
			return t.MediaType == "image/jpeg"
		}
		return false
	})
}
