// How large a picture may be.

package blob

import "image"

const (
	// maxSide is the longest side of an image, in pixels.
	maxSide = 10_000
	// maxPixels is the largest area of an image: 50 megapixels.
	maxPixels = 50_000_000
)

// measure refuses an image whose header could not be read, or whose picture
// would not fit.
func (s *stream) measure(c image.Config, err error) {
	switch {
	case err != nil || c.Width < 1 || c.Height < 1:
		s.fail(refuseImage)
	case c.Width > maxSide || c.Height > maxSide || c.Width*c.Height > maxPixels:
		s.fail(refusePixels)
	}
}
