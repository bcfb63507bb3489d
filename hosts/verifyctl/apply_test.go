// Tests of bootstrap files that are refused.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/wrongfiles"
	"github.com/verifyd/verifyd/verification/store"
)

// held returns everything that a bootstrap file can change.
func (w *world) held() string {
	w.t.Helper()
	copied, ok := w.store.(store.CopyStore)
	if !ok {
		w.t.Fatalf("%T is no CopyStore", w.store)
	}
	db := w.database()
	defer func() { _ = db.close() }()
	files, err := db.AppliedFiles(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	lists, err := db.AcceptedLists(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	all := fmt.Sprintf("%s\n%+v\n%+v\n", wrongfiles.Records(w.t, copied), files, lists)
	if url := w.env["VERIFYD_DATABASE_URL"]; strings.Contains(url, "@") {
		all += wrongfiles.Tables(w.t, url)
	}
	return all
}

func TestARefusedFileChangesNothing(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "postgres": onPostgres, "folder": onFolder} {
		t.Run(name, func(t *testing.T) {
			w, file := open(t), filepath.Join(t.TempDir(), "bootstrap.yaml")
			run := func(command, text string) string {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				w.ctl(strings.ReplaceAll(command, "FILE", file))
				return string(w.transcript())
			}
			if said := run("apply FILE", wrongfiles.Base); !strings.HasSuffix(said, "exit 0\n") {
				t.Fatal(said)
			}
			if err := wrongfiles.Fill(t.Context(), w.store); err != nil {
				t.Fatal(err)
			}
			before := w.held()
			if said := run("apply FILE --dry-run", wrongfiles.Good); !strings.HasSuffix(said, "exit 0\n") {
				t.Fatalf("the good file is refused: %s", said)
			}
			for _, f := range wrongfiles.All() {
				for _, command := range []string{"apply FILE", "apply FILE --dry-run", "workflow validate --bootstrap FILE"} {
					if name != "memory" && (strings.HasPrefix(command, "workflow") || strings.HasSuffix(command, "--dry-run") && !f.Stored) {
						continue // the first uses no store, and a dry run ends where the other one does
					}
					said := run(command, f.Text)
					if validates := strings.HasPrefix(command, "workflow"); f.Stored && validates {
						if !strings.HasSuffix(said, "exit 0\n") || !strings.Contains(said, "what depends on the data of the hosts was not checked") {
							t.Errorf("%s: %s says %s, want that it cannot tell", f.Name, command, said)
						}
					} else if !strings.HasSuffix(said, "exit 1\n") || !strings.Contains(said, f.Want) {
						t.Errorf("%s: %s says %s, want %q and exit 1", f.Name, command, said, f.Want)
					}
					if diff := cmp.Diff(before, w.held()); diff != "" {
						t.Fatalf("%s: %s has changed something (-before +after):\n%s", f.Name, command, diff)
					}
				}
			}
			if said := run("apply FILE", wrongfiles.Good); !strings.HasSuffix(said, "exit 0\n") || w.held() == before {
				t.Errorf("the good file changes nothing: %s", said)
			}
		})
	}
}
