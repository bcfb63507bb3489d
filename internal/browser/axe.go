// Problems of accessibility.

package browser

import _ "embed"

// axe is axe-core 4.14.1, which finds problems of accessibility.
//
//go:embed axe/axe.min.js
var axe string

// Violations returns the problems of accessibility that axe-core finds on the page, or
// "". It works with a strict Content-Security-Policy, and not without JavaScript.
//
// Half of the time of axe-core goes into the contrast of colours. A test visits a page
// in several tabs: on a dark screen axe-core checks the colours alone, and in a tab with
// a width or a language of its own everything else. In all other tabs it checks all.
func (t *Tab) Violations() string {
	t.tb.Helper()
	rules := "{}"
	switch o := t.options; {
	case o.Dark:
		rules = `{runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`
	case o.Width > 0 || o.Language != "":
		rules = `{rules: {"color-contrast": {enabled: false}}}`
	}
	Eval[bool](t, axe+"\n;true")
	return Eval[string](t, `axe.run(document, {resultTypes: ["violations"], ...`+rules+`}).then((r) =>
		r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => "  " + n.html + "\n  " + n.failureSummary).join("\n")).join("\n"))`)
}

// TooWide returns by how many pixels the page is wider than the window, or 0.
func (t *Tab) TooWide() int {
	t.tb.Helper()
	// A phone widens innerWidth to what does not fit.
	return max(0, Eval[int](t, "document.documentElement.scrollWidth")-int(t.width))
}
