// Names: what stands at the top level, and what a package may be called.

package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckTopLevel holds the closed top level of the repository.
func CheckTopLevel(names []string) []string {
	closed := []string{
		"verification", "adapters", "hosts", "internal", "docs",
		"go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
	}
	var faults []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(closed, name) {
			faults = append(faults, name+" must not stand at the top level: move it below "+strings.Join(closed[:5], ", ")+".")
		}
	}
	return faults
}

// CheckNames holds that a package is called by one lower-case noun that says
// what it is about.
func CheckNames(pkgs []Package) []string {
	empty := []string{
		"util", "utils", "common", "type", "types", "model", "models",
		"helper", "helpers", "manager", "managers", "misc", "shared", "base",
	}
	noun := regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	var faults []string
	for _, p := range pkgs {
		last := p.Path[strings.LastIndex(p.Path, "/")+1:]
		if slices.Contains(empty, p.Name) || slices.Contains(empty, last) {
			faults = append(faults, fmt.Sprintf("%s (package %s) says nothing by its name: call it after the thing it is about.", p.Path, p.Name))
		} else if p.Name != "" && !noun.MatchString(p.Name) {
			faults = append(faults, fmt.Sprintf("%s (package %s) must be one lower-case noun without an underscore.", p.Path, p.Name))
		}
	}
	return faults
}
