// The logo and the links of a tenant's pages.

package definitions

import (
	"bytes"
	"errors"
	"image"
	_ "image/jpeg" // a format of logos
	_ "image/png"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of the width and the height of a logo, in pixels.
const (
	minLogoPixels = 16
	maxLogoPixels = 2000
)

// logo reads a logo beside the bootstrap file. It returns none for an empty name, and
// reports a file that is no logo.
func (b *bootstrapReader) logo(p path, name string) verification.Logo {
	if name == "" {
		return verification.Logo{}
	}
	_, content, ok := b.beside(p, name)
	if !ok {
		return verification.Logo{}
	}
	mediaType, message := checkLogo(content)
	if message != "" {
		b.problem(p, message)
	}
	return verification.NewLogo(mediaType, content)
}

func checkLogo(content []byte) (mediaType, message string) {
	if len(content) > verification.MaxLogoBytes {
		return "", "the file must be at most 128 KiB"
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(content)) //nolint:forbidigo // a file of the operator
	switch {
	case errors.Is(err, image.ErrFormat) || err == nil && format != "png" && format != "jpeg":
		return "", "the file must be a PNG or a JPEG"
	case err != nil:
		return "", "the image cannot be read"
	case min(size.Width, size.Height) < minLogoPixels || max(size.Width, size.Height) > maxLogoPixels:
		return "", "the image must be 16 to 2000 pixels wide and high"
	}
	if _, _, err := image.Decode(bytes.NewReader(content)); err != nil { //nolint:forbidigo // a PNG or a JPEG of the operator
		return "", "the image cannot be read"
	}
	return "image/" + format, ""
}

func (b *bootstrapReader) links(p path, f linkFields) verification.PageLinks {
	read := func(name string, value *string, check func(string) error) string {
		if value == nil {
			return ""
		}
		b.report(check(*value), slices.Clip(p), name)
		return *value
	}
	phone := read("phone", f.Phone, verification.ValidatePhone)
	if number, ok := verification.CleanPhone(phone); ok {
		phone = number
	}
	return verification.PageLinks{
		Privacy: read("privacy", f.Privacy, verification.ValidatePageURL),
		Help:    read("help", f.Help, verification.ValidatePageURL),
		Legal:   read("legal", f.Legal, verification.ValidatePageURL),
		Phone:   phone,
	}
}
