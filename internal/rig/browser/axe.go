// Problems of accessibility.

package browser

import _ "embed"

// axe is axe-core 4.14.1, which finds problems of accessibility.
//
//go:embed axe/axe.min.js
var axe string

// Rules are rules of axe-core: a value of its run option.
type Rules string

// The rules for one page on several screens: AllRules on the first one, and on the others
// those that may find something else there. More than half of the time of axe-core goes
// into the contrast of colours.
const (
	AllRules       Rules = `{}`
	AllButContrast Rules = `{rules: {"color-contrast": {enabled: false}}}`
	ColourRules    Rules = `{runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]}}`
	LayoutRules    Rules = `{runOnly: {type: "rule", values: ["scrollable-region-focusable"]}}`
)

// scrolls reports whether something in the page scrolls, or may scroll in a frame; if not, LayoutRules find nothing.
const scrolls = `[...document.querySelectorAll("*")].some((e) => e.localName === "iframe" ||
	(e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) && /auto|scroll/.test(getComputedStyle(e).overflow))`

// Violations returns the problems of accessibility that axe-core finds on the page, or
// "". It works with a strict Content-Security-Policy, and not without JavaScript.
func (t *Tab) Violations(rules Rules) string {
	t.tb.Helper()
	if rules == LayoutRules && !Eval[bool](t, scrolls) {
		return ""
	}
	if !Eval[bool](t, `"axe" in window`) {
		Eval[bool](t, axe+"\n;true")
	}
	return Eval[string](t, `axe.run(document, {resultTypes: ["violations"], ...`+string(rules)+`}).then((r) =>
		r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => "  " + n.html + "\n  " + n.failureSummary).join("\n")).join("\n"))`)
}

// TooWide returns by how many pixels the page is wider than the window, or 0.
func (t *Tab) TooWide() int {
	t.tb.Helper()
	// A phone widens innerWidth to what does not fit.
	return max(0, Eval[int](t, "document.documentElement.scrollWidth")-int(t.width))
}
