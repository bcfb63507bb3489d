// Tests of the template, with a test initdb.

package pgtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

// fakeInitdb writes one file of the data.
const fakeInitdb = `#!/bin/sh
for option; do case $option in --pgdata=*) mkdir "${option#*=}" && echo 15 >"${option#*=}/PG_VERSION";; esac; done
`

// installed returns a folder that every user can enter, with a program initdb.
func installed(t *testing.T, initdb string) string {
	t.Helper()
	parent, err := pgtest.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.MkdirTemp(parent, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(bin) })
	program(t, bin, "postgres", 0o755)
	program(t, bin, "initdb", 0o755)
	for _, err := range []error{os.Chmod(bin, 0o755), os.WriteFile(filepath.Join(bin, "initdb"), []byte(initdb), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// names returns the names of the entries of a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestTestBinariesShareOneTemplate(t *testing.T) {
	bin, in := installed(t, fakeInitdb), installed(t, "")
	// A test binary that was killed left a template that is not complete.
	program(t, filepath.Join(in, "verifyd-pgtest-1/template/data"), "PG_VERSION", 0o644)
	program(t, filepath.Join(in, "verifyd-pgtest-1"), "lock", 0o644)
	made, errs := make([]string, 4), make([]error, 4)
	var together sync.WaitGroup
	for n := range made {
		together.Go(func() { made[n], errs[n] = pgtest.MakeTemplate(t.Context(), bin, in) })
	}
	together.Wait()
	for n := range made {
		if errs[n] != nil || made[n] != made[0] {
			t.Fatalf("MakeTemplate = %s, %v; and %s", made[n], errs[n], made[0])
		}
	}
	if diff := cmp.Diff([]string{"initdb", "postgres", filepath.Base(made[0])}, names(t, in)); diff != "" {
		t.Errorf("beside the template there is (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"data", "password"}, names(t, made[0])); diff != "" {
		t.Errorf("files of the template (-want +got):\n%s", diff)
	}
	program(t, made[0], "mark", 0o644)
	if again, err := pgtest.MakeTemplate(t.Context(), bin, in); err != nil || again != made[0] || len(names(t, again)) != 3 {
		t.Errorf("MakeTemplate = %s, %v; want the template that is there", again, err)
	}
}

func TestOtherProgramsHaveATemplateOfTheirOwn(t *testing.T) {
	bin, in := installed(t, fakeInitdb), installed(t, "")
	first, err := pgtest.MakeTemplate(t.Context(), bin, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(bin, "postgres"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	second, err := pgtest.MakeTemplate(t.Context(), bin, in)
	if err != nil || second == first {
		t.Errorf("the template of programs that were replaced = %s, %v", second, err)
	}
}

func TestATemplateThatCannotBeMadeLeavesNothing(t *testing.T) {
	bin, in := installed(t, "#!/bin/sh\necho no space left\nexit 1\n"), installed(t, "")
	if _, err := pgtest.MakeTemplate(t.Context(), bin, in); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("MakeTemplate = %v, want the words of initdb", err)
	}
	if left := names(t, in); len(left) != 2 {
		t.Errorf("files that are left: %v", left)
	}
}
