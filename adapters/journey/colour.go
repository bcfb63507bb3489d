// The style sheet of a tenant's colour.

package journey

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
)

// rgb is an sRGB colour, each component from 0 to 1.
type rgb [3]float64

// readable is the minimum contrast of text in WCAG 2.2 level AA.
const readable = 4.5

// parseColour parses #rrggbb; the # is optional.
func parseColour(s string) (rgb, bool) {
	s = strings.TrimPrefix(s, "#")
	n, err := strconv.ParseUint(s, 16, 32)
	if len(s) != 6 || err != nil {
		return rgb{}, false
	}
	return rgb{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}, true
}

// mix returns c mixed with a share of d, from 0 to 1.
func (c rgb) mix(d rgb, share float64) rgb {
	for i := range c {
		c[i] += (d[i] - c[i]) * share
	}
	return c
}

func (c rgb) String() string {
	part := func(f float64) int { return int(math.Round(f * 255)) }
	return fmt.Sprintf("#%02x%02x%02x", part(c[0]), part(c[1]), part(c[2]))
}

// luminance returns the relative luminance that WCAG defines.
func (c rgb) luminance() float64 {
	linear := func(f float64) float64 {
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

func contrast(a, b rgb) float64 {
	x, y := a.luminance(), b.luminance()
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// on returns the colour nearest to c, between c and end, that is readable on
// ground.
func (c rgb) on(ground, end rgb) rgb {
	for share := 0.0; share < 1; share += 0.02 {
		// A margin, because String rounds.
		if d := c.mix(end, share); contrast(d, ground) >= readable+0.1 {
			return d
		}
	}
	return end
}

// sheetOf returns the style sheet of a colour. The grounds are those of
// journey.css: the darker one of the light page and the lighter one of the dark.
func sheetOf(c rgb) string {
	white, black := rgb{1, 1, 1}, rgb{}
	lightGround, darkGround := rgb{0xe4 / 255.0, 0xea / 255.0, 0xf2 / 255.0}, rgb{0x24 / 255.0, 0x30 / 255.0, 0x40 / 255.0}
	card := rgb{0x18 / 255.0, 0x20 / 255.0, 0x2a / 255.0}
	light, dark := c.on(lightGround, black), c.on(darkGround, white)
	return fmt.Sprintf(`:root { --brand: %s; --brand-deep: %s; --on-brand: #ffffff; --tint: %s; }
@media (prefers-color-scheme: dark) {
  :root { --brand: %s; --brand-deep: %s; --on-brand: #0b1018; --tint: %s; }
}
`, light, light.mix(black, 0.25), white.mix(light, 0.1), dark, dark.mix(white, 0.35), card.mix(dark, 0.14))
}

// Colour returns the URL of the style sheet of the tenant's colour, or "".
func (p page) Colour() string {
	c, ok := parseColour(p.colour)
	if !ok {
		return ""
	}
	return p.Asset("colour/" + strings.TrimPrefix(c.String(), "#") + ".css")
}

func (s *site) serveColour(w http.ResponseWriter, r *http.Request) {
	hex, isCSS := strings.CutSuffix(chi.URLParam(r, "colour"), ".css")
	c, ok := parseColour(hex)
	if !ok || !isCSS || chi.URLParam(r, "version") != s.assets.version {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	serveImmutable(w, "text/css; charset=utf-8", []byte(sheetOf(c)))
}
