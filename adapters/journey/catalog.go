// The messages of the pages in every language.

package journey

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

//go:embed messages/*.json
var messageFiles embed.FS

// catalog holds the messages of one language by key. They may have the verbs of
// package fmt.
type catalog struct {
	tag      language.Tag
	messages map[string]string
}

// catalogs are those of all languages; the first is the default.
type catalogs struct {
	list    []catalog
	matcher language.Matcher
}

// languages are listed in the order of preference among equal matches.
func languages() []string { return []string{"en", "hi"} }

func readCatalogs() (catalogs, error) {
	var all catalogs
	var tags []language.Tag
	for _, name := range languages() {
		raw, err := messageFiles.ReadFile("messages/" + name + ".json")
		if err != nil {
			return all, err
		}
		c := catalog{tag: language.Make(name)}
		if err := json.Unmarshal(raw, &c.messages); err != nil {
			return all, fmt.Errorf("read messages/%s.json: %w", name, err)
		}
		all.list, tags = append(all.list, c), append(tags, c.tag)
	}
	all.matcher = language.NewMatcher(tags)
	return all, nil
}

// maxAccept is the longest Accept-Language that is read, in bytes.
const maxAccept = 1000

// choose returns the catalog of the language that the customer chose on the
// page, or else of the best match for Accept-Language.
func (all catalogs) choose(chosen string, h http.Header) catalog {
	if i := slices.Index(languages(), chosen); i >= 0 {
		return all.list[i]
	}
	accept := strings.Join(h.Values("Accept-Language"), ",")
	if len(accept) > maxAccept {
		return all.list[0]
	}
	_, i := language.MatchStrings(all.matcher, accept)
	return all.list[i]
}

// T returns a message with its arguments. It fails for an unknown key.
func (c catalog) T(key string, args ...any) (string, error) {
	text, ok := c.messages[key]
	if !ok {
		return "", fmt.Errorf("messages/%s.json has no %q", c.tag, key)
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return text, nil
}

// Lang returns the tag of the language.
func (c catalog) Lang() string { return c.tag.String() }

// Dir returns "rtl" for a script that is written from right to left, or else "ltr".
func (c catalog) Dir() string {
	script, _ := c.tag.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}

// addProblems adds the engine's problems to their fields. A problem that was
// found while reading the form stays, because its message is more precise.
func (f *form) addProblems(step *engine.JourneyStep, problems []verification.FieldError, c catalog) {
	for _, p := range problems {
		name := strings.TrimPrefix(p.Name, "payload.")
		field, ok := step.Fields.ByName(name)
		switch {
		case !ok:
			f.general = c.messages["problem.general"]
		case f.problems[name] == "":
			f.problems[name] = c.problem(field, p.Message)
			delete(f.uploads, name) // the engine refused it
		}
	}
	if len(problems) == 0 && len(f.problems) == 0 {
		f.general = c.messages["problem.general"]
	}
}

// problem returns the text for a problem of a field, or else a general one. A
// test checks that every message has its text.
func (c catalog) problem(field verification.InputField, message string) string {
	if own := field.In(c.tag.String()).PatternMessage; message == verification.PatternProblem && own != "" {
		return own
	}
	if text := c.translation(field, message); text != "" {
		return text
	}
	return c.messages["problem.general"]
}

// fileProblem returns the text for a refused file, or else one that lists the
// accepted kinds.
func (c catalog) fileProblem(field verification.InputField, problems []verification.FieldError) string {
	for _, p := range problems {
		if text := c.translation(field, p.Message); text != "" {
			return text
		}
	}
	if kinds := c.kindNames(kindsOf(field)); kinds != "" {
		return strings.ReplaceAll(c.messages["file.kind"], "#", kinds)
	}
	return c.messages["file.unreadable"]
}

// translation returns the text for an English message, or "". The key is the
// message with # for its number or date, and may end with the type of the field.
func (c catalog) translation(field verification.InputField, message string) string {
	number := regexp.MustCompile(`\d{4}-\d\d-\d\d|-?\d+(\.\d+)?(e[+-]?\d+)?`).FindString(message)
	key := "problem: " + message
	if number != "" {
		key = "problem: " + strings.Replace(message, number, "#", 1)
	}
	text, ok := c.messages[key+" ("+string(field.Type)+")"]
	if !ok {
		text = c.messages[key]
	}
	return strings.ReplaceAll(text, "#", number)
}
