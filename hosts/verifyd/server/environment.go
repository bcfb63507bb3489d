// The environment variables of the process.

package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

const variablePrefix = "VERIFYD_"

// environment holds the variables.
type environment struct {
	vars map[string]string
	read map[string]bool // those that a bootstrap file names
}

func newEnvironment(environ []string) *environment {
	e := &environment{vars: map[string]string{}, read: map[string]bool{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.vars[name] = value
	}
	return e
}

// get returns the value of a variable that a bootstrap file names.
func (e *environment) get(name string) string {
	e.read[name] = true
	return e.vars[name]
}

// unknown returns a warning for each variable that looks like a setting and is
// not one.
func (e *environment) unknown() []string {
	var known []string
	for _, h := range settingHelp() {
		known = append(known, field(h.flag))
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(e.vars)) {
		word, ours := strings.CutPrefix(name, variablePrefix)
		word = strings.ToLower(word)
		if !ours || e.vars[name] == "" || e.read[name] || slices.Contains(known, word) || usedElsewhere(word) {
			continue
		}
		warnings = append(warnings, name+" is not a setting of verifyd"+suggestion(word, known, cli.Variable))
	}
	return warnings
}

// usedElsewhere reports whether a variable is a secret, verifyctl or the tests use it,
// or Kubernetes sets it for a service named verifyd.
func usedElsewhere(word string) bool {
	first, _, more := strings.Cut(word, "_")
	switch first {
	case "secret", "service", "test", "bench", "linear":
		return more
	case "port", "soak":
		return true
	}
	return word == "tenant" || word == "providers" || word == "update_golden"
}
