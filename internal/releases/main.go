// Command releases records what a release reads: schema, migrations, events, records of the journal, API, metrics,
// settings and files, and which recorded stores it opens. The tests compare the tree with each release. It is a module of its
// own, so that no host depends on its libraries.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	release := flag.String("release", "", "the release, such as 0.1.0")
	flag.Parse()
	if err := record(os.DirFS("../.."), "testdata", *release); err != nil {
		fmt.Fprintln(os.Stderr, "releases:", err)
		os.Exit(1)
	}
}

// described are the files that describe what this tree reads. A test beside each holds it against the code.
var described = []string{ //nolint:gochecknoglobals // a constant
	"internal/postgres/pgschema/testdata/schema.txt",
	"verification/rules/testdata/events.txt",
	"internal/memory/journal/testdata/records.txt",
	"internal/dashboards/testdata/metrics.txt",
	"adapters/httpapi/openapi.yaml",
	"internal/definitions/settings.schema.json",
	"internal/definitions/bootstrap.schema.json",
	"internal/definitions/workflow.schema.json",
	"internal/definitions/provider.schema.json",
	"internal/definitions/cases.schema.json",
}

// kept are the files that a release has and that never change: migrations, and stores that releases wrote.
var kept = []string{ //nolint:gochecknoglobals // a constant
	migrations + "/*.sql", "verification/rules/testdata/histories/*.jsonl", "internal/memory/journal/testdata/*/*",
}

const (
	migrations = "internal/postgres/pgschema/migrations"
	sums       = "sums.txt" // of the files that never change
)

// describe returns the files that a record of the tree has, by their names.
func describe(tree fs.FS) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range described {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(name)] = string(text)
	}
	for _, pattern := range kept {
		names, err := fs.Glob(tree, pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("%s: no files are found: %w", pattern, err)
		}
		for _, name := range names {
			content, err := fs.ReadFile(tree, name)
			if err != nil {
				return nil, err
			}
			files[sums] += fmt.Sprintf("%s %x\n", name, sha256.Sum256(content))
		}
	}
	return files, nil
}

// record writes the record of a release that is not released yet into a folder of the folder.
func record(tree fs.FS, folder, release string) error {
	drafts, released, err := versions(tree)
	switch {
	case err != nil:
		return err
	case slices.Contains(released, release):
		return fmt.Errorf("-release %s: docs/changelog.md says that it is released, and what a release reads never changes", release)
	case !slices.Contains(drafts, release):
		return fmt.Errorf("-release %q: docs/changelog.md must have the heading \"## Unreleased: %s\"", release, release)
	}
	files, err := describe(tree)
	if err != nil {
		return err
	}
	folder = filepath.Join(folder, release)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var heading = regexp.MustCompile(`(?m)^## (Unreleased: )?(\d+\.\d+\.\d+)\b`)

// versions returns the releases that the changelog names: those to come, and those that are released.
func versions(tree fs.FS) (drafts, released []string, err error) {
	text, err := fs.ReadFile(tree, "docs/changelog.md")
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			drafts = append(drafts, m[2])
		} else {
			released = append(released, m[2])
		}
	}
	return drafts, released, err
}

// recorded returns the record of a release.
func recorded(folder, release string) (map[string]string, error) {
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(folder, release, "*"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s is not recorded: run make record RELEASE=%s", release, release)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(name)] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return files, nil
}
