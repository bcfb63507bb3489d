// Messages in every language.

package web

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Catalog holds the messages of one language by key.
type Catalog struct {
	tag      language.Tag
	messages map[string]string
}

// Catalogs are those of all languages; the first is the default.
type Catalogs struct {
	list    []Catalog
	matcher language.Matcher
}

// Languages returns the languages of the pages, in the order of preference among
// equal matches.
func Languages() []string { return []string{"en", "hi"} }

// ReadCatalogs reads messages/<language>.json of every language. A message may have
// verbs of package fmt, or # where its page inserts a value. Every catalog must have
// the keys of the first, with the same verbs.
func ReadCatalogs(files fs.FS) (Catalogs, error) {
	var all Catalogs
	var tags []language.Tag
	for _, name := range Languages() {
		raw, err := fs.ReadFile(files, "messages/"+name+".json")
		if err != nil {
			return all, err
		}
		c := Catalog{tag: language.Make(name)}
		if err := json.Unmarshal(raw, &c.messages); err != nil {
			return all, fmt.Errorf("read messages/%s.json: %w", name, err)
		}
		all.list, tags = append(all.list, c), append(tags, c.tag)
		if err := sameMessages(all.list[0], c); err != nil {
			return all, err
		}
	}
	all.matcher = language.NewMatcher(tags)
	return all, nil
}

// sameMessages returns an error if b has other keys than a, or other verbs. Their order
// may differ, as in "%[2]s %[1]d".
func sameMessages(a, b Catalog) error {
	position := regexp.MustCompile(`%\[\d+\]`)
	verb := regexp.MustCompile(`%[a-z]|#`)
	verbs := func(text string) []string {
		return slices.Sorted(slices.Values(verb.FindAllString(position.ReplaceAllString(text, "%"), -1)))
	}
	for key, text := range a.messages {
		want, got := verbs(text), verbs(b.messages[key])
		switch {
		case b.messages[key] == "":
			return fmt.Errorf("messages/%s.json has no text for %q", b.tag, key)
		case !slices.Equal(want, got):
			return fmt.Errorf("messages/%s.json: %q has the verbs %q, want %q as in %s.json", b.tag, key, got, want, a.tag)
		}
	}
	for key := range b.messages {
		if a.messages[key] == "" {
			return fmt.Errorf("messages/%s.json has %q, which %s.json does not have", b.tag, key, a.tag)
		}
	}
	return nil
}

// maxAccept is the maximum length of an Accept-Language header that is read, in bytes.
const maxAccept = 1000

// Choose returns the catalog of the language that the reader chose, or else of the
// best match for Accept-Language.
func (all Catalogs) Choose(chosen string, h http.Header) Catalog {
	if i := slices.Index(Languages(), chosen); i >= 0 {
		return all.list[i]
	}
	accept := strings.Join(h.Values("Accept-Language"), ",")
	if len(accept) > maxAccept {
		return all.list[0]
	}
	_, i := language.MatchStrings(all.matcher, accept)
	return all.list[i]
}

// LanguageLink leads to the page in another language. A list of them is the data of the
// template "languages".
type LanguageLink struct {
	Catalog

	URL string // relative to that of the page
}

// Links returns the links from a page in the language c to the other languages. They
// keep the query, which may be nil.
func (all Catalogs) Links(c Catalog, query url.Values) (links []LanguageLink) {
	q := url.Values{}
	maps.Copy(q, query)
	for _, other := range all.list {
		if other.tag != c.tag {
			q.Set("lang", other.Lang())
			links = append(links, LanguageLink{other, "?" + q.Encode()})
		}
	}
	return links
}

// Message returns a message as it is, or "" for an unknown key.
func (c Catalog) Message(key string) string { return c.messages[key] }

// T returns a message with its arguments. It fails for an unknown key.
func (c Catalog) T(key string, args ...any) (string, error) {
	text, ok := c.messages[key]
	if !ok {
		return "", fmt.Errorf("messages/%s.json has no %q", c.tag, key)
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return text, nil
}

// N returns the message of a count. The message has the keys "<key> (one)" and
// "<key> (other)", as in "%d run" and "%d runs"; the verb of n comes first. The rules
// for the number are those of the language (CLDR): in Hindi, 0 has the form "one", too.
func (c Catalog) N(key string, n int, args ...any) (string, error) {
	form := "other"
	if plural.Cardinal.MatchPlural(c.tag, n, 0, 0, 0, 0) == plural.One {
		form = "one"
	}
	text, ok := c.messages[key+" ("+form+")"]
	if !ok {
		return "", fmt.Errorf("messages/%s.json has no \"%s (%s)\"", c.tag, key, form)
	}
	return message.NewPrinter(c.tag).Sprintf(text, append([]any{n}, args...)...), nil
}

// Number returns n with the separators of the language, such as 1,00,000.
func (c Catalog) Number(n int) string { return message.NewPrinter(c.tag).Sprint(n) }

// Lang returns the tag of the language.
func (c Catalog) Lang() string { return c.tag.String() }

// Dir returns "rtl" for a script that is written from right to left, or else "ltr".
func (c Catalog) Dir() string {
	script, _ := c.tag.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}
