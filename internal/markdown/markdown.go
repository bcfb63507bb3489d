// Package markdown reads the texts of a workflow: a small part of Markdown, as HTML for pages
// and as lines for paper.
package markdown

import (
	"bytes"
	"html/template"
	"net/url"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Converter converts paragraphs, line breaks, lists, emphasis and links. Everything else, HTML
// included, stays text. It is safe for concurrent use.
type Converter struct{ markdown goldmark.Markdown }

// New returns a Converter.
func New() Converter {
	return Converter{goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(paragraphs{parser.NewParagraphParser()}, 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			),
		)),
		goldmark.WithRendererOptions(
			html.WithHardWraps(),
			renderer.WithNodeRenderers(util.Prioritized(links{}, 100)), // before the renderer of HTML
		),
	)}
}

// maxNesting is how deep lists and emphasis may nest. A deeper text is shown as it is.
const maxNesting = 32

// HTML returns a text as HTML. Links open in a new tab.
func (c Converter) HTML(source string) (template.HTML, error) {
	raw, document, ok := c.parse(source)
	if !ok {
		return template.HTML("<p>" + template.HTMLEscapeString(source) + "</p>"), nil //nolint:gosec // G203: the text is escaped
	}
	var b bytes.Buffer
	if err := c.markdown.Renderer().Render(&b, raw, document); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // G203: goldmark escapes all text, and renderLink checks addresses
}

// parse returns a text as a tree, and false if it nests too deep.
func (c Converter) parse(source string) (raw []byte, document ast.Node, ok bool) {
	raw = []byte(source)
	document = c.markdown.Parser().Parse(text.NewReader(raw))
	return raw, document, nesting(document) <= maxNesting
}

// nesting returns how deep the nodes below n nest.
func nesting(n ast.Node) int {
	deepest, depth := 0, 0
	_ = ast.Walk(n, func(_ ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		deepest = max(deepest, depth)
		return ast.WalkContinue, nil
	})
	return deepest
}

// paragraphs are also made of indented lines, which are code in full Markdown.
type paragraphs struct{ parser.BlockParser }

// CanAcceptIndentedLine implements parser.BlockParser.
func (paragraphs) CanAcceptIndentedLine() bool { return true }

// links renders links and images.
type links struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (links) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkContinue, nil // only its description, which is text
	})
}

// renderLink renders a link that opens in a new tab, so that the form stays. The text
// of a link to any other address than a page, a mail or a telephone stays text.
func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := n.(*ast.Link)
	if !ok || !allowed(string(link.Destination)) {
		return ast.WalkContinue, nil
	}
	if !entering {
		_, err := w.WriteString("</a>")
		return ast.WalkContinue, err
	}
	_, err := w.WriteString(`<a href="` + template.HTMLEscapeString(string(link.Destination)) + `" target="_blank" rel="noopener noreferrer">`)
	return ast.WalkContinue, err
}

// allowed reports whether a text may link to an address.
func allowed(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "https", "http":
		return u.Host != ""
	case "mailto", "tel":
		return u.Opaque != ""
	}
	return false
}
