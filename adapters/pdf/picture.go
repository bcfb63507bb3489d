// Pictures: the logo of the tenant, and documents that are images.

package pdf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"math"

	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	scale "golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
)

// Limits of pictures.
const (
	limitPictures  = 24         // pictures of documents in one report
	limitPixels    = 25_000_000 // the area of a picture that is decoded
	pictureWidth   = 60.0       // millimetres
	pictureHeight  = 80.0
	pictureQuality = 80
	logoWidth      = 60.0
	logoHeight     = 16.0
	pixelsPerMM    = 10.0 // of a picture on the page: 254 dpi
)

// errNoPicture is returned for a picture that is not printed.
var errNoPicture = errors.New("it is not at hand, is too large, or cannot be read")

// picture is an image on the page. maroto's own image has no width of its own.
type picture struct {
	core.Component // the parts of the interface that describe the tree

	raw           []byte
	format        extension.Type
	left, top     float64
	width, height float64 // in millimetres
}

// GetHeight implements core.Component.
func (p picture) GetHeight(core.Provider, *entity.Cell) float64 { return p.top + p.height }

// Render implements core.Component.
func (p picture) Render(provider core.Provider, cell *entity.Cell) {
	provider.AddImageFromBytes(p.raw, &entity.Cell{X: cell.X, Y: cell.Y, Width: p.width, Height: p.height},
		&props.Rect{Left: p.left, Top: p.top, Percent: 100}, p.format)
}

// pictures makes the pictures of one document. gofpdf writes them in the order of their
// widths in pixels, and in a random order where those are equal. So each has another width.
type pictures struct {
	count int
	taken map[int]bool
}

// logo returns the logo of a letterhead.
func (ps *pictures) logo(l verification.Logo) (picture, error) {
	return ps.make(l.Content, l.MediaType(), logoWidth, logoHeight, extension.Png)
}

// document returns the picture of a document.
func (ps *pictures) document(ctx context.Context, d report.Document) (picture, error) {
	if d.Open == nil || ps.count >= limitPictures {
		return picture{}, errNoPicture
	}
	ps.count++
	content, err := d.Open(ctx)
	if err != nil {
		return picture{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(content, verification.MaxDocumentBytes+1))
	if err := errors.Join(err, content.Close()); err != nil {
		return picture{}, err
	}
	return ps.make(raw, d.MediaType, pictureWidth, pictureHeight, extension.Jpg)
}

// make returns the picture in a box of that size, in millimetres, encoded anew.
func (ps *pictures) make(raw []byte, mediaType string, width, height float64, format extension.Type) (picture, error) {
	config, decode := decoders(mediaType)
	if config == nil {
		return picture{}, errNoPicture
	}
	size, err := config(bytes.NewReader(raw))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > limitPixels/size.Height {
		return picture{}, errNoPicture
	}
	img, err := decode(bytes.NewReader(raw))
	if err != nil {
		return picture{}, errNoPicture
	}
	turn := turnOf(raw)
	wide, high := float64(img.Bounds().Dx()), float64(img.Bounds().Dy())
	if turn >= 5 {
		wide, high = high, wide
	}
	ratio := min(width/wide, height/high)
	p := picture{Component: text.New(""), format: format, width: wide * ratio, height: high * ratio}
	img = ps.scaled(img, turn, min(1, p.width*pixelsPerMM/wide))
	var b bytes.Buffer
	if format == extension.Png {
		err = png.Encode(&b, img)
	} else {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: pictureQuality})
	}
	p.raw = b.Bytes()
	return p, err
}

// decoders returns the decoders of a media type; nil for one that is no picture.
func decoders(mediaType string) (func(io.Reader) (image.Config, error), func(io.Reader) (image.Image, error)) {
	switch mediaType {
	case "image/jpeg":
		return jpeg.DecodeConfig, jpeg.Decode
	case "image/png":
		return png.DecodeConfig, png.Decode
	case "image/webp":
		return webp.DecodeConfig, webp.Decode
	}
	return nil, nil
}

// scaled returns the picture on white, turned upright, in a size that no other picture has.
func (ps *pictures) scaled(img image.Image, turn int, by float64) image.Image {
	from := img.Bounds()
	wide, high := max(1, int(math.Round(float64(from.Dx())*by))), max(1, int(math.Round(float64(from.Dy())*by)))
	width := &wide
	if turn >= 5 {
		width = &high
	}
	for *width > 1 && ps.taken[*width] {
		*width--
	}
	for ps.taken[*width] {
		*width++
	}
	if ps.taken == nil {
		ps.taken = map[int]bool{}
	}
	ps.taken[*width] = true
	small := image.NewRGBA(image.Rect(0, 0, wide, high))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	if from.Dx() > 4*wide { // a bilinear scaler takes memory for each row of a large picture
		half := image.NewRGBA(image.Rect(0, 0, 2*wide, 2*high))
		scale.ApproxBiLinear.Scale(half, half.Bounds(), img, from, draw.Src, nil)
		img, from = half, half.Bounds()
	}
	scale.BiLinear.Scale(small, small.Bounds(), img, from, draw.Over, nil)
	return upright(small, turn)
}

// upright undoes an orientation of EXIF, 1 to 8.
func upright(img *image.RGBA, turn int) *image.RGBA {
	if turn <= 1 || turn > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if turn >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			to := [...]image.Point{
				2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y},
				5: {y, x}, 6: {h - 1 - y, x}, 7: {h - 1 - y, w - 1 - x}, 8: {y, w - 1 - x},
			}[turn]
			out.SetRGBA(to.X, to.Y, img.RGBAAt(x, y))
		}
	}
	return out
}

// turnOf returns the orientation in the EXIF segment of a JPEG; 1 without one.
func turnOf(raw []byte) int {
	for i := 2; i+4 <= len(raw) && raw[0] == 0xFF && raw[1] == 0xD8 && raw[i] == 0xFF && raw[i+1] != 0xDA; {
		size := int(binary.BigEndian.Uint16(raw[i+2:]))
		end := i + 2 + size
		if size < 2 || end > len(raw) {
			return 1
		}
		if exif, ok := bytes.CutPrefix(raw[i+4:end], []byte("Exif\x00\x00")); ok && raw[i+1] == 0xE1 {
			return turnIn(exif)
		}
		i = end
	}
	return 1
}

// turnIn returns the orientation of the first directory of a TIFF; 1 without one.
func turnIn(tiff []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(tiff, []byte("MM")) {
		order = binary.BigEndian
	}
	const header, entrySize, tag = 8, 12, 0x0112
	if len(tiff) < header {
		return 1
	}
	at := int(order.Uint32(tiff[4:]))
	if at < header || at+2 > len(tiff) {
		return 1
	}
	for n := range int(order.Uint16(tiff[at:])) {
		e := at + 2 + n*entrySize
		if e+entrySize > len(tiff) {
			return 1
		}
		if turn := int(order.Uint16(tiff[e+8:])); order.Uint16(tiff[e:]) == tag && turn >= 1 && turn <= 8 {
			return turn
		}
	}
	return 1
}
