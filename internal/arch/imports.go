// The import table: who may import whom.

package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Closed returns everything that package verification may import. The depguard rule
// "verification" in .golangci.yml has the same list.
func Closed() []string {
	return []string{
		"cmp", "context", "crypto/sha256", "encoding/base64", "encoding/json", "errors", "fmt", "io", "iter",
		"maps", "math", "net/url", "slices", "sort", "strconv", "strings", "time", "unicode/utf8",
	}
}

// row is one line of the import table. The first row that matches a package applies.
type row struct {
	where  string              // "x" is one package, "x/..." also what stands below it
	std    func(p string) bool // standard packages
	libs   bool                // other modules; .golangci.yml names them for each adapter
	inside func(from, p string) bool
	advice string
}

func table() []row {
	anyStd := func(string) bool { return true }
	return []row{
		{
			where:  "verification",
			std:    func(p string) bool { return slices.Contains(Closed(), p) },
			inside: only(),
			advice: "the rules import only the closed list of standard packages: take what you need as a value or through a port",
		},
		{
			where:  "verification/engine/...",
			std:    func(p string) bool { return !within(p, "net/http/...", "database/sql/...", "os/...") },
			inside: only("verification", "verification/fair", "verification/lru"),
			advice: "the engine imports the rules, verification/fair, verification/lru and the standard library without net/http, database/sql and os: put it behind a port",
		},
		{
			where:  "verification/fair",
			std:    func(p string) bool { return slices.Contains([]string{"container/list", "context", "sync", "time"}, p) },
			inside: only(),
			advice: "verification/fair shares slots and knows nothing of runs: it imports container/list, context, sync and time",
		},
		{
			where:  "verification/lru",
			std:    func(p string) bool { return slices.Contains([]string{"container/list", "sync"}, p) },
			inside: only(),
			advice: "verification/lru is a cache and knows nothing of runs: it imports container/list and sync",
		},
		{
			where:  "verification/storetest/...",
			std:    anyStd,
			inside: only("verification"),
			advice: "the store suite imports the rules and the standard library, so that every adapter author can run it",
		},
		{
			where: "adapters/enginetest/...",
			std:   anyStd,
			inside: only("verification", "verification/engine", "adapters/clock", "adapters/expression",
				"adapters/memory", "adapters/provider/sandbox"),
			advice: "the test kit imports the rules, the engine and the adapters that need nothing around them",
		},
		{
			where:  "adapters/apitypes",
			std:    anyStd,
			inside: only("verification"),
			advice: "the JSON of the API imports the rules and the standard library, so that clients can import it",
		},
		{
			where:  "adapters/web",
			std:    anyStd,
			libs:   true,
			inside: only(),
			advice: "the design of the pages knows nothing of runs: it imports the standard library and its own libraries",
		},
		{
			where: "adapters/...",
			std:   anyStd,
			libs:  true,
			inside: func(from, p string) bool {
				driving := within(from, "adapters/httpapi/...", "adapters/journey/...", "adapters/console/...")
				return p == "verification" || p == "verification/fair" || p == "verification/lru" || p == "adapters/apitypes" ||
					p == "adapters/transport" ||
					driving && (p == "verification/engine" || p == "adapters/web" || p == "adapters/graph")
			},
			advice: "an adapter imports the rules, verification/fair, verification/lru, the shared packages adapters/apitypes and adapters/transport, and its own libraries (a driving one also the engine, adapters/web and adapters/graph): let a host wire two adapters together",
		},
		{
			where: "hosts/...",
			std:   func(p string) bool { return p != "testing" && !within(p, "testing/...") },
			libs:  true,
			inside: func(_, p string) bool {
				return !within(p, "verification/storetest/...", "adapters/enginetest/...",
					"internal/arch/...", "internal/bench/...", "internal/browser/...", "internal/golden/...",
					"internal/mock/...", "internal/noisy/...", "internal/npm/...", "internal/oidctest/...", "internal/pgtest/...",
					"internal/process/...", "internal/scenario/...")
			},
			advice: "a host imports no mock and no test suite: move it into a test file",
		},
		{
			where:  "internal/...",
			std:    anyStd,
			libs:   true,
			inside: func(string, string) bool { return true },
		},
	}
}

// CheckImports checks the import table. Test files may import anything except a
// host, which only hosts and internal may import.
func CheckImports(pkgs []Package) []string {
	var problems []string
	for _, p := range pkgs {
		i := slices.IndexFunc(table(), func(r row) bool { return within(p.Path, r.where) })
		if i < 0 {
			problems = append(problems, p.Path+" stands in no row of the import table: move it below verification, adapters, hosts or internal, or add its row to internal/arch/imports.go.")
			continue
		}
		r := table()[i]
		for _, imp := range p.Imports {
			if !r.allows(p.Path, imp) {
				problems = append(problems, fmt.Sprintf("%s must not import %s: %s.", p.Path, imp, r.advice))
			}
		}
		for _, imp := range p.TestImports {
			if within(imp, "hosts/...") && !within(p.Path, "hosts/...", "internal/...") {
				problems = append(problems, fmt.Sprintf("A test of %s must not import %s: move the test to hosts or internal.", p.Path, imp))
			}
		}
	}
	return problems
}

func (r row) allows(from, imp string) bool {
	switch {
	case ours(imp):
		return unit(from) == unit(imp) || r.inside(from, imp)
	case standard(imp):
		return r.std(imp)
	default:
		return r.libs
	}
}

// unit returns the part of the tree whose packages may import each other: one
// adapter, one host, or one package of the rules.
func unit(path string) string {
	n := 2
	if within(path, "adapters/provider/...", "adapters/blob/s3/...") {
		n = 3
	}
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(n, len(parts))], "/")
}

func only(paths ...string) func(from, p string) bool {
	return func(_, p string) bool { return slices.Contains(paths, p) }
}

// within reports whether path is one of the patterns: "x", or "x/..." for x and
// all below it.
func within(path string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		top, deep := strings.CutSuffix(pattern, "/...")
		return path == top || deep && strings.HasPrefix(path, top+"/")
	})
}

func ours(path string) bool {
	return within(path, "verification/...", "adapters/...", "hosts/...", "internal/...", "docs/...")
}

// standard reports whether path belongs to the standard library: its first element
// is no host name.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
