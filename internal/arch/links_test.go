// Links between documents.

package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unwanted = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	named    = regexp.MustCompile("`((?:verification|adapters|hosts|internal|docs)/[\\w./-]+)`")
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	checked := 0
	check := func(file, text string) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			at := filepath.Join(filepath.Dir(file), to)
			if to == "" {
				at = file
			}
			checked++
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s: %s does not exist", file, m[1])
			} else if anchor != "" && filepath.Ext(at) == ".md" && !anchors(t, at)[anchor] {
				t.Errorf("%s: %s has no such heading", file, m[1])
			}
		}
	}
	eachFile(t, filepath.Join(root, "docs"), ".md", check)
	eachFile(t, filepath.Join(root, "docs"), ".md", func(file, text string) {
		if filepath.Base(filepath.Dir(file)) == "decisions" { // they stay as they were made
			return
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			checked++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %s does not exist", file, m[1])
			}
		}
	})
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	check(filepath.Join(root, "README.md"), string(readme))
	if checked < 500 {
		t.Errorf("%d links were checked: are they found?", checked)
	}
}

// anchors returns the anchors of the headings of a document.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		found[strings.ReplaceAll(unwanted.ReplaceAllString(strings.ToLower(link.ReplaceAllString(m[1], "]")), ""), " ", "-")] = true
	}
	return found
}
