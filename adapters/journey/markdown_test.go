package journey_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// consentPage returns the visible text of the page of a consent.
func consentPage(t testing.TB, text string) string {
	t.Helper()
	c := serve(t).begin(workflow.Definition{
		Workflow: "consent", Name: "Consent", Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Text: text, OnDeclined: workflow.TargetNext, Next: "done"},
			"done":    {Type: workflow.NodeEnd},
		},
	}, "")
	page := c.get()
	if page.status != http.StatusOK {
		t.Fatalf("the page = %d", page.status)
	}
	_, words, _ := strings.Cut(page.body, `<div class="words" dir="auto">`)
	words, _, _ = strings.Cut(words, "</div>")
	return strings.TrimSpace(words)
}

func TestTextsSupportASmallPartOfMarkdown(t *testing.T) {
	const link = `target="_blank" rel="noopener noreferrer"`
	for _, tt := range []struct{ text, want string }{
		{"One line.", "<p>One line.</p>"},
		{"One line.\nAnother.\n\nA paragraph.", "<p>One line.<br>\nAnother.</p>\n<p>A paragraph.</p>"},
		{"We check:\n\n- your PAN\n- your *face*", "<p>We check:</p>\n<ul>\n<li>your PAN</li>\n<li>your <em>face</em></li>\n</ul>"},
		{"1. First\n2. **Second**", "<ol>\n<li>First</li>\n<li><strong>Second</strong></li>\n</ol>"},
		{"See [our policy](https://acme.example/privacy?a=1&b=2).", `<p>See <a href="https://acme.example/privacy?a=1&amp;b=2" ` + link + `>our policy</a>.</p>`},
		{"[Write](mailto:help@acme.example) or [call](tel:+912212345678)", `<p><a href="mailto:help@acme.example" ` + link + `>Write</a> or <a href="tel:+912212345678" ` + link + `>call</a></p>`},

		// Everything else stays text.
		{"[x](javascript:alert(1))", "<p>x</p>"},
		{"[x](JaVaScRiPt:alert(1))", "<p>x</p>"},
		{"[x](data:text/html,x)", "<p>x</p>"},
		{"[x](vbscript:x) [y](file:///etc/passwd) [z](//evil.example) [w](/v1/runs)", "<p>x y z w</p>"},
		{`[x](https://acme.example/"onclick="alert(1))`, `<p><a href="https://acme.example/&#34;onclick=&#34;alert(1)" ` + link + `>x</a></p>`},
		{"![a photo](https://acme.example/x.png)", "<p>a photo</p>"},
		{"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"},
		{"a <b>bold</b> claim & <https://acme.example>", "<p>a &lt;b&gt;bold&lt;/b&gt; claim &amp; &lt;https://acme.example&gt;</p>"},
		{"# No heading", "<p># No heading</p>"},
		{"> no quote", "<p>&gt; no quote</p>"},
		{"    no code", "<p>no code</p>"},
		{"A line.\n\n\tAnother, with a tab.", "<p>A line.</p>\n<p>Another, with a tab.</p>"},
		{"`no code`", "<p>`no code`</p>"},
		{"[x][1]\n\n[1]: javascript:alert(1)", "<p>[x][1]</p>\n<p>[1]: javascript:alert(1)</p>"},
	} {
		if got := consentPage(t, tt.text); got != tt.want {
			t.Errorf("the words of %q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestALongTextOfNestedMarksIsShown(t *testing.T) {
	for _, unit := range []string{"- ", "*a", "**a _b ", "[", "![", "[a](", "](", "1. ", "> ", "\\"} {
		text := strings.Repeat(unit, 20_000/len(unit))
		if got := consentPage(t, text); got == "" {
			t.Errorf("a text of %q is not shown", unit)
		}
	}
}
