// The linter's import lists, compared with the table here.

package arch

import (
	"fmt"
	"slices"
	"strings"
)

// CheckLint checks that config, the text of .golangci.yml, has the closed list of
// package verification and an import rule for each adapter.
func CheckLint(config string, pkgs []Package) []string {
	var problems []string
	if got := lintAllows(config, "verification"); !slices.Equal(got, Closed()) {
		problems = append(problems, fmt.Sprintf("The depguard rule verification in .golangci.yml allows %q, internal/arch/imports.go allows %q: make them equal.", got, Closed()))
	}
	var seen []string
	for _, p := range pkgs {
		u := unit(p.Path)
		if !within(p.Path, "adapters/...") || slices.Contains(seen, u) {
			continue
		}
		seen = append(seen, u)
		rule := strings.ReplaceAll(u, "/", "-")
		if len(lintAllows(config, rule)) == 0 {
			problems = append(problems, fmt.Sprintf("%s has no import list: add the depguard rule %s to .golangci.yml, with the libraries it may use.", u, rule))
		}
	}
	return problems
}

// lintAllows returns the entries "- name$" below the line "rule:", up to the next
// line with the same or less indentation.
func lintAllows(config, rule string) []string {
	var allowed []string
	depth := -1
	for line := range strings.Lines(config) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case text == rule+":":
			depth = indent
		case depth >= 0 && text != "" && indent <= depth:
			return allowed
		case depth >= 0 && strings.HasPrefix(text, "- "):
			allowed = append(allowed, strings.TrimSuffix(strings.TrimPrefix(text, "- "), "$"))
		}
	}
	return allowed
}
