// Package realnames makes people and companies with real given and family names of many
// languages and scripts, for tests and benchmarks. The names are those of the npm package
// @faker-js/faker, which is installed once.
package realnames

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/npm"
)

// faker has the names. Its licence is MIT.
var faker = npm.Package{Name: "@faker-js/faker", Version: "10.6.0"} //nolint:gochecknoglobals // a constant

// Locale has the names of one language in one country.
type Locale struct {
	Code   string   `json:"code"` // such as de_AT
	Script string   `json:"script"`
	Given  []string `json:"given"`
	Family []string `json:"family"`
	Middle []string `json:"middle"` // such as patronymics; may be empty
	Legal  []string `json:"legal"`  // forms of companies; may be empty
	City   []string `json:"city"`   // may be empty
}

// dump prints the locales that have given and family names.
const dump = `import { allLocales } from "@faker-js/faker";
const list = (v) => [...new Set(v == null ? [] : Array.isArray(v) ? v : Object.values(v).flatMap((w) => w ?? []))].map(String);
const all = Object.entries(allLocales).map(([code, l]) => ({
	code, script: l.metadata?.script ?? "", given: list(l.person?.first_name), family: list(l.person?.last_name),
	middle: list(l.person?.middle_name), legal: list(l.company?.legal_entity_type), city: list(l.location?.city_name),
}));
console.log(JSON.stringify(all.filter((l) => l.given.length >= 20 && l.family.length >= 10)));`

// Load returns the locales in the order of their codes. It installs the package if
// necessary, with npm and node.
func Load(ctx context.Context) ([]Locale, error) {
	path, err := install(ctx)
	if err != nil {
		return nil, fmt.Errorf("the real names of the tests are in the npm package %s@%s, which cannot be installed: install Node.js and npm, or connect to a registry: %w", faker.Name, faker.Version, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Locale
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	byCode := map[string]Locale{}
	for _, l := range all {
		byCode[l.Code] = l
	}
	out := make([]Locale, 0, len(byCode))
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		out = append(out, byCode[code])
	}
	return out, nil
}

// For returns the locales for a test. Under -short it skips the test.
func For(tb testing.TB) []Locale {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs names from an npm package, and -short leaves such tests out")
	}
	all, err := Load(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// Describe returns one line about the names. It installs them if necessary.
func Describe(ctx context.Context) (string, error) {
	all, err := Load(ctx)
	return fmt.Sprintf("%s %s, %d locales", faker.Name, faker.Version, len(all)), err
}

// install returns the path of the file with the names.
func install(ctx context.Context) (string, error) {
	i, err := npm.Find()
	if err != nil {
		return "", err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	dir, err := i.Install(ctx, faker, func(ctx context.Context, dir string) error {
		c := exec.CommandContext(ctx, node, "--input-type=module", "--eval", dump)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("run node: %w", err)
		}
		return os.WriteFile(file(dir), out, 0o644)
	})
	return file(dir), err
}

func file(dir string) string { return filepath.Join(dir, "names.json") }
