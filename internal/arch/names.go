// The names at the top level and of packages.

package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckTopLevel checks the closed list of names at the top level.
func CheckTopLevel(names []string) []string {
	closed := []string{
		"verification", "adapters", "hosts", "internal", "docs",
		"go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
	}
	var problems []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(closed, name) {
			problems = append(problems, name+" must not stand at the top level: move it below "+strings.Join(closed[:5], ", ")+".")
		}
	}
	return problems
}

// CheckNames checks that a package name is one lower-case noun that says what the
// package is about.
func CheckNames(pkgs []Package) []string {
	empty := []string{
		"util", "utils", "common", "type", "types", "model", "models",
		"helper", "helpers", "manager", "managers", "misc", "shared", "base",
	}
	noun := regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	var problems []string
	for _, p := range pkgs {
		last := p.Path[strings.LastIndex(p.Path, "/")+1:]
		if slices.Contains(empty, p.Name) || slices.Contains(empty, last) {
			problems = append(problems, fmt.Sprintf("%s (package %s) says nothing by its name: call it after the thing it is about.", p.Path, p.Name))
		} else if p.Name != "" && !noun.MatchString(p.Name) {
			problems = append(problems, fmt.Sprintf("%s (package %s) must be one lower-case noun without an underscore.", p.Path, p.Name))
		}
	}
	return problems
}
