// Tests of the command line.

package main

import (
	"io"
	"strings"
	"testing"
)

func TestAnUnknownNameIsRefusedBeforeAnythingStarts(t *testing.T) {
	for name, args := range map[string][]string{
		"ink":    {"-store", "ink"},
		"shouts": {"-attack", "shouts"},
		"-loud":  {"-loud"},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want an error that names %s", args, err, name)
		}
	}
}
