// Tests of the memory limit and of the log.

package process_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/rig/process"
)

func TestTheMemoryOfACommandIsLimited(t *testing.T) {
	out, err := process.Command(t.Context(), 1<<30, "/bin/sh", "-c", `echo "$0 $1" && ulimit -d`, "an", "argument").Output()
	if got, want := string(out), "an argument\n1048576\n"; err != nil || got != want {
		t.Errorf("printed %q, %v; want %q", got, err, want)
	}
}

func TestACrashIsFoundInTheLogHoweverItIsWritten(t *testing.T) {
	for name, writes := range map[string][]string{
		"at once":            {"one line\nfatal error: out of memory\n\ngoroutine 1\n"},
		"in parts":           {"one line\nfatal ", "error: ", "out of memory", "\n"},
		"before a long tail": {"fatal error: out of memory\n", string(make([]byte, 1<<20))},
	} {
		var log process.Log
		for _, text := range writes {
			if n, err := log.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatalf("%s: wrote %d, %v", name, n, err)
			}
		}
		if got := log.Crash(); got != "fatal error: out of memory" {
			t.Errorf("%s: Crash() = %q", name, got)
		}
	}
	var log process.Log
	if _, err := log.Write([]byte("level=ERROR msg=\"panic: not at the start\"\n")); err != nil || log.Crash() != "" {
		t.Errorf("Crash() = %q, %v; want none", log.Crash(), err)
	}
}
