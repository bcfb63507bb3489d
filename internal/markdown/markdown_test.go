// Tests of texts on paper. The tests of package journey have the HTML.

package markdown_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/markdown"
)

// printed returns lines as text: bold parts in brackets, items indented.
func printed(lines []markdown.Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.Repeat("  ", l.Depth))
		if l.Marker != "" {
			b.WriteString(l.Marker + " ")
		}
		for _, s := range l.Spans {
			if s.Bold {
				s.Text = "[" + s.Text + "]"
			}
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestTextsReadOnPaperAsOnThePage(t *testing.T) {
	c := markdown.New()
	for _, tt := range []struct{ text, want string }{
		{"One line.\nAnother.\n\nA paragraph.", "One line.\nAnother.\n\nA paragraph."},
		{"We keep it **eight years**.", "We keep it [eight years]."},
		{"We check:\n\n- your PAN\n- your *face*\n  and name", "We check:\n\n  • your PAN\n  • your face\n  and name"},
		{"3. First\n4. **Second**", "  3. First\n  4. [Second]"},
		{"- a\n  - b\n- c", "  • a\n    • b\n  • c"},
		{"See [the **registry**](https://registry.example/?a=1&b=2).", "See the [registry] (https://registry.example/?a=1&b=2)."},
		{"[Write](mailto:help@acme.example) or [call](tel:+912212345678)", "Write (help@acme.example) or call (+912212345678)"},
		{"[https://acme.example](https://acme.example)", "https://acme.example"},
		{"[x](javascript:alert(1)) ![a photo](https://acme.example/x.png)", "x a photo"},
		{`5 \* 3 &amp; <b>more</b> # all`, "5 * 3 & <b>more</b> # all"},
		{"", ""},
		{strings.Repeat("- ", 40) + "deep", strings.Repeat("- ", 40) + "deep"},
	} {
		if got := printed(c.Lines(tt.text)); got != tt.want {
			t.Errorf("the lines of %q are\n%s\nwant\n%s", tt.text, got, tt.want)
		}
	}
}

func TestPaperAndPageHaveTheSameWords(t *testing.T) {
	c := markdown.New()
	tags := strings.NewReplacer("<p>", "", "</p>", "", "<br>", "", "<ul>", "", "</ul>", "", "<li>", "", "</li>", "", "<em>", "", "</em>", "",
		"<strong>", "", "</strong>", "", "<ol>", "", "</ol>", "", "&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`)
	words := func(s string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("[", "", "]", "", "•", "", "1. ", "", "2. ", "").Replace(s)), " ")
	}
	for _, text := range []string{
		"a &copy; b &#169; \\_x\\_ \"q\" &nosuch; \\z", "1. x\n2. **y *z***\n\ntext `code` <script>", "*a **b** c* __d__ _e", "- x\n\n  y\n- z\n\n\n> q",
		"line  \nbreak\\\nmore", "अपनी **पहचान**\n- हाँ", "5 < 6 > 4 & 3", `\&amp; \* &#42;a*`,
	} {
		html, err := c.HTML(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := words(printed(c.Lines(text))), words(tags.Replace(string(html))); got != want {
			t.Errorf("%q reads %q on paper, %q on the page", text, got, want)
		}
	}
}
