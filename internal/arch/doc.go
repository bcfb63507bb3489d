// Package arch has tests of the layout of the repository: the names at its top level,
// the first comment of each file, and that no package is without an import rule. The
// linter checks imports, names, comments and clocks (.golangci.yml).
package arch
