// The environment variables of the process.

package main

import (
	"maps"
	"slices"
	"strings"
)

const variablePrefix = "VERIFYD_"

// environment holds the variables, and which of them mean something.
type environment struct {
	vars  map[string]string
	flags []string        // whose variables are settings
	read  map[string]bool // by a bootstrap file
}

func newEnvironment(environ []string) *environment {
	e := &environment{vars: map[string]string{}, read: map[string]bool{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.vars[name] = value
	}
	return e
}

// get returns a variable that a bootstrap file names.
func (e *environment) get(name string) string {
	e.read[name] = true
	return e.vars[name]
}

// unknown says which variables look like settings and are none.
func (e *environment) unknown() []string {
	known := make([]string, len(e.flags))
	for i, flag := range e.flags {
		known[i] = strings.ReplaceAll(flag, "-", "_")
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(e.vars)) {
		word, ours := strings.CutPrefix(name, variablePrefix)
		word = strings.ToLower(word)
		if !ours || e.vars[name] == "" || e.read[name] || slices.Contains(known, word) || elsewhere(word) {
			continue
		}
		warnings = append(warnings, name+" is not a setting of verifyd"+suggestion(word, known, variable))
	}
	return warnings
}

// elsewhere reports whether a variable means something to verifyctl, to tests,
// or was set by Kubernetes for a service of the name verifyd.
func elsewhere(word string) bool {
	return word == "tenant" || word == "providers" || word == "soak" ||
		strings.HasPrefix(word, "test_") || strings.HasPrefix(word, "service_") || word == "port" || strings.HasPrefix(word, "port_")
}
