package npm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/npm"
)

var sample = npm.Package{Name: "@scope/sample", Version: "1.2.3"}

// fake is an npm that records its arguments and unpacks one file.
const fake = `#!/bin/sh
echo "$@" >>"$3/arguments"
mkdir -p "$3/node_modules/@scope/sample" && echo content >"$3/node_modules/@scope/sample/file"
`

// installer uses a script as its npm.
func installer(t *testing.T, script string) npm.Installer {
	t.Helper()
	dir := t.TempDir()
	i := npm.Installer{NPM: filepath.Join(dir, "npm"), Cache: filepath.Join(dir, "cache")}
	if err := os.WriteFile(i.NPM, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestConcurrentInstallsInstallOnce(t *testing.T) {
	i := installer(t, fake)
	var finished atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			dir, err := i.Install(t.Context(), sample, func(context.Context, string) error {
				finished.Add(1)
				return nil
			})
			if err != nil {
				t.Errorf("Install: %v", err)
			}
			if raw, err := os.ReadFile(filepath.Join(sample.Dir(dir), "file")); err != nil || string(raw) != "content\n" {
				t.Errorf("installed file = %q, %v", raw, err)
			}
		})
	}
	all.Wait()
	dir := filepath.Join(i.Cache, "scope-sample-1.2.3")
	got, err := os.ReadFile(filepath.Join(dir, "arguments"))
	if err != nil {
		t.Fatal(err)
	}
	want := "install --prefix " + dir + " --no-save --ignore-scripts --no-audit --no-fund --loglevel=error @scope/sample@1.2.3\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("arguments of npm (-want +got):\n%s", diff)
	}
	if n := finished.Load(); n != 1 {
		t.Errorf("finish was called %d times, want once", n)
	}
}

func TestAnInstallationThatFailedIsRepeated(t *testing.T) {
	i := installer(t, "#!/bin/sh\necho no network; exit 1\n")
	if _, err := i.Install(t.Context(), sample, nil); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("Install with an npm that fails = %v, want what npm said", err)
	}
	if err := os.WriteFile(i.NPM, []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, want := range []error{broken, nil} {
		_, err := i.Install(t.Context(), sample, func(context.Context, string) error { return want })
		if !errors.Is(err, want) {
			t.Errorf("Install = %v, want %v", err, want)
		}
	}
}
