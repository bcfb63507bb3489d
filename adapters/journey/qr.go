// QR codes, which lead from a computer to a phone.

package journey

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// qrCode returns the QR code of a URL as SVG with a label, or "" for a URL that is too long
// for one. The code is black on white in dark mode, too, because scanners expect it.
func qrCode(url, label string) template.HTML {
	code, err := qr.Encode(url, qr.M)
	if err != nil {
		return ""
	}
	const quiet = 4 // modules around the code
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	size := code.Size + 2*quiet
	return template.HTML(fmt.Sprintf( //nolint:gosec // G203: numbers, and an escaped label
		`<svg class="code" viewBox="0 0 %d %d" role="img" aria-label="%s" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`,
		size, size, html.EscapeString(label), size, size, path.String()))
}
