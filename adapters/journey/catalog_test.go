// Tests that no message is unused or missing. ReadCatalogs compares the languages.

package journey_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func catalog(t *testing.T, name string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("messages", name))
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestEveryTextIsUsed(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "page/*.html", "../internal/web/component/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") {
				all.Write(raw)
			}
		}
	}
	for key := range catalog(t, "en.json") {
		used, _, _ := strings.Cut(key, " (") // a text with a number has one for each form
		if !strings.HasPrefix(key, "problem: ") && !strings.Contains(all.String(), `"`+used+`"`) {
			t.Errorf("no page uses %q", key)
		}
	}
}

// The rules and the sanitizer refuse values with English messages. Each message
// has a text, so that no customer reads the general one.
func TestEveryRefusalHasAText(t *testing.T) {
	en := catalog(t, "en.json")
	number := regexp.MustCompile(`-?\d+|%d`)
	for _, source := range []struct {
		file, pattern string
		atLeast       int
	}{
		{"../../verification/workflow/datelimit.go", `return "(must[^"]*)"`, 3},
		{"../../verification/workflow/answer.go", `(?:return|Problem +=|Sprintf\()\s*"((?:must|is|does|has)[^"]*)"`, 10},
		{"../../verification/rules/submission.go", `a\.problem\(place, "((?:must|is|does)[^"]*)"`, 2},
		{"../../verification/internal/texts/texts.go", `return fmt\.Sprintf\("(must be at most[^"]*)"`, 1},
		{"../../verification/rules/upload.go", `InvalidField\("document", name, "([^"]*)"\)`, 2},
		{"../media/media.go", `refusal\("([^"]*)"\)`, 2},
	} {
		raw, err := os.ReadFile(filepath.FromSlash(source.file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(source.pattern).FindAllStringSubmatch(string(raw), -1)
		if len(found) < source.atLeast {
			t.Errorf("%s has the refusals %q, want at least %d: does the code write them in another way now?", source.file, found, source.atLeast)
		}
		for _, f := range found {
			message := strings.TrimSuffix(f[1], " ")
			if strings.HasSuffix(f[1], " ") { // a number follows
				message += " #"
			}
			switch message {
			case "must be a string", "must be true or false", "must be a list", "must be an object with the fields of the group":
				continue // no form sends it
			}
			if key := "problem: " + number.ReplaceAllString(message, "#"); en[key] == "" {
				t.Errorf("messages/en.json has no %q, which %s says", key, source.file)
			}
		}
	}
}
