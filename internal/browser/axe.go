// Problems of accessibility.

package browser

import _ "embed"

// axe is axe-core 4.14.1, which finds problems of accessibility.
//
//go:embed axe/axe.min.js
var axe string

// Violations returns the problems of accessibility that axe-core finds on the page, or
// "". It works with a strict Content-Security-Policy, and not without JavaScript.
func (t *Tab) Violations() string {
	t.tb.Helper()
	Eval[bool](t, axe+"\n;true")
	return Eval[string](t, `axe.run(document, {resultTypes: ["violations"]}).then((r) =>
		r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => "  " + n.html + "\n  " + n.failureSummary).join("\n")).join("\n"))`)
}

// TooWide returns by how many pixels the page is wider than the window, or 0.
func (t *Tab) TooWide() int {
	t.tb.Helper()
	// A phone widens innerWidth to what does not fit.
	return max(0, Eval[int](t, "document.documentElement.scrollWidth")-int(t.width))
}
