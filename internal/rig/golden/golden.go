// Package golden compares the output of a test with a reviewed file, byte for byte.
// `go test -update`, or VERIFYD_UPDATE_GOLDEN=1 for many packages, rewrites the
// files; read the diff before committing it.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Env is the environment variable that means -update when it is 1.
const Env = "VERIFYD_UPDATE_GOLDEN"

var update = flag.Bool("update", false, "rewrite golden files") //nolint:gochecknoglobals // a test flag must be declared before the tests start

// Equal fails the test if got differs from the file at path, which is relative to
// the test's folder: "testdata/report.json".
func Equal(t testing.TB, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		t.Fatalf("read golden file: %v", err)
	}
	if !missing && bytes.Equal(want, got) {
		return
	}
	if *update || os.Getenv(Env) == "1" {
		if err := write(path, got); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
		t.Logf("%s was written; read it before you commit it", path)
		return
	}
	again := "If this is intended, run this test again with -update, or with " + Env + "=1, and read the diff."
	if missing {
		t.Fatalf("%s does not exist. %s", path, again)
	}
	t.Errorf("%s differs (-want +got):\n%s%s", path, diff(want, got), again)
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// diff compares text by lines and other bytes by offset.
func diff(want, got []byte) string {
	if utf8.Valid(want) && utf8.Valid(got) {
		return cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(string(got), "\n"))
	}
	return cmp.Diff(want, got)
}
