// The style sheet of a tenant's colour.

package web

import (
	"fmt"
	"strings"

	"github.com/lucasb-eyer/go-colorful"
)

// The minimum contrasts of WCAG 2.2 level AA.
const (
	textContrast = 4.5
	edgeContrast = 3.0 // of what is not text, such as the border of a button
)

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

// visible returns the colour nearest to c, between c and end, whose contrast with the
// background is at least minimum.
func visible(c, background, end colorful.Color, minimum float64) colorful.Color {
	for share := 0.0; share < 1; share += 0.02 {
		// A margin, because Hex rounds.
		if d := c.BlendRgb(end, share); contrast(d, background) >= minimum+0.1 {
			return d
		}
	}
	return end
}

// brandSheet returns the style sheet that replaces the brand's tokens of web.css. A
// button keeps the colour in light and dark; its text is white or black, whichever
// has more contrast. Links and marks are darkened on light pages and lightened on dark
// ones, until they contrast with a background that is darker than all of the light pages
// in web.css, or lighter than all of the dark ones.
func brandSheet(c colorful.Color) string {
	white, black := colorful.Color{R: 1, G: 1, B: 1}, colorful.Color{}
	light, _ := parseColour("e4eaf2")
	dark, _ := parseColour("243040")
	card, _ := parseColour("18202a")
	on, away := white, black
	if contrast(c, black) > contrast(c, white) {
		on, away = black, white
	}
	scheme := func(card, background, end colorful.Color, tint float64) string {
		text := visible(c, background, end, textContrast)
		return fmt.Sprintf("--brand: %s; --brand-hover: %s; --on-brand: %s; --brand-edge: %s; --brand-text: %s; --brand-text-hover: %s; --tint: %s;",
			c.Hex(), c.BlendRgb(away, 0.18).Hex(), on.Hex(), visible(c, background, end, edgeContrast).Hex(), text.Hex(), text.BlendRgb(end, 0.3).Hex(), card.BlendRgb(text, tint).Hex())
	}
	return fmt.Sprintf(":root { %s }\n@media screen and (prefers-color-scheme: dark) {\n  :root { %s }\n}\n",
		scheme(white, light, black, 0.1), scheme(card, dark, white, 0.14))
}
