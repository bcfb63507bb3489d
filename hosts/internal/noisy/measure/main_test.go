// Tests of the command line.

package main

import (
	"io"
	"strings"
	"testing"
)

func TestRowsThatDoNotExistAreRefusedAtOnce(t *testing.T) {
	for name, args := range map[string][]string{
		`no row matches "shouts"`:         {"-only", "shouts"},
		`no row matches "slow vendor, i"`: {"-only", "slow vendor, i"},
		`no row matches "busy"`:           {"-short", "-only", "busy"}, // the tests have no control
		"missing closing )":               {"-only", "("},
		"-loud":                           {"-loud"},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want an error that names %s", args, err, name)
		}
	}
}
