// The style sheet of a tenant's colour.

package journey

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/lucasb-eyer/go-colorful"
)

// minContrast is the minimum contrast of text in WCAG 2.2 level AA.
const minContrast = 4.5

// parseColour parses #rrggbb; the # is optional.
func parseColour(s string) (colorful.Color, bool) {
	s = strings.TrimPrefix(s, "#")
	c, err := colorful.Hex("#" + s)
	return c, err == nil && len(s) == 6
}

// luminance returns the relative luminance that WCAG defines.
func luminance(c colorful.Color) float64 {
	r, g, b := c.LinearRgb()
	return 0.2126*r + 0.7152*g + 0.0722*b
}

func contrast(a, b colorful.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// readable returns the colour nearest to c, between c and end, that is readable on
// ground.
func readable(c, ground, end colorful.Color) colorful.Color {
	for share := 0.0; share < 1; share += 0.02 {
		// A margin, because Hex rounds.
		if d := c.BlendRgb(end, share); contrast(d, ground) >= minContrast+0.1 {
			return d
		}
	}
	return end
}

// sheetOf returns the style sheet of a colour. The grounds are those of
// journey.css: the darker one of the light page and the lighter one of the dark.
func sheetOf(c colorful.Color) string {
	white, _ := parseColour("ffffff")
	black, _ := parseColour("000000")
	lightGround, _ := parseColour("e4eaf2")
	darkGround, _ := parseColour("243040")
	card, _ := parseColour("18202a")
	light, dark := readable(c, lightGround, black), readable(c, darkGround, white)
	return fmt.Sprintf(`:root { --brand: %s; --brand-deep: %s; --on-brand: #ffffff; --tint: %s; }
@media (prefers-color-scheme: dark) {
  :root { --brand: %s; --brand-deep: %s; --on-brand: #0b1018; --tint: %s; }
}
`, light.Hex(), light.BlendRgb(black, 0.25).Hex(), white.BlendRgb(light, 0.1).Hex(),
		dark.Hex(), dark.BlendRgb(white, 0.35).Hex(), card.BlendRgb(dark, 0.14).Hex())
}

// Colour returns the URL of the style sheet of the tenant's colour, or "".
func (p page) Colour() string {
	c, ok := parseColour(p.colour)
	if !ok {
		return ""
	}
	return p.Asset("colour/" + strings.TrimPrefix(c.Hex(), "#") + ".css")
}

func (s *site) serveColour(w http.ResponseWriter, r *http.Request) {
	hex, isCSS := strings.CutSuffix(chi.URLParam(r, "colour"), ".css")
	c, ok := parseColour(hex)
	if !ok || !isCSS || chi.URLParam(r, "version") != s.assets {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	cacheForever(w.Header())
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, sheetOf(c)) // the customer may have gone away
}
