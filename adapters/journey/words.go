// What the pages say, in every language there is a catalogue for.

package journey

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

//go:embed words/*.json
var wordFiles embed.FS

// words is the catalogue of one language: texts by key, with the verbs of
// package fmt for what is filled in.
type words struct {
	tag   language.Tag
	texts map[string]string
}

// catalogues are all languages; the first one is for everybody else.
type catalogues struct {
	list    []words
	matcher language.Matcher
}

// languages in the order that decides between equals.
func languages() []string { return []string{"en", "hi"} }

func readCatalogues() (catalogues, error) {
	var c catalogues
	var tags []language.Tag
	for _, name := range languages() {
		raw, err := wordFiles.ReadFile("words/" + name + ".json")
		if err != nil {
			return c, err
		}
		w := words{tag: language.Make(name)}
		if err := json.Unmarshal(raw, &w.texts); err != nil {
			return c, fmt.Errorf("read words/%s.json: %w", name, err)
		}
		c.list, tags = append(c.list, w), append(tags, w.tag)
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// maxAccept is the longest Accept-Language that is read, in bytes.
const maxAccept = 1000

// choose picks the language that the customer chose on the page, else the best
// one that the browser asks for.
func (c catalogues) choose(chosen string, h http.Header) words {
	if i := slices.Index(languages(), chosen); i >= 0 {
		return c.list[i]
	}
	accept := strings.Join(h.Values("Accept-Language"), ",")
	if len(accept) > maxAccept {
		return c.list[0]
	}
	_, i := language.MatchStrings(c.matcher, accept)
	return c.list[i]
}

// text is one text with its arguments filled in. A key without a text is a
// fault of the page, which a test finds.
func (w words) text(key string, args ...any) (string, error) {
	text, ok := w.texts[key]
	if !ok {
		return "", fmt.Errorf("words/%s.json has no %q", w.tag, key)
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return text, nil
}

// direction is rtl for the scripts that run from right to left.
func (w words) direction() string {
	script, _ := w.tag.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}
