// Tests of what verifyctl says about the level of a store.

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification/store"
)

// says fails the test unless a command ends with an exit code, and prints a text.
func (w *world) says(line, text, exit string) {
	w.t.Helper()
	w.transcript()
	w.ctl(line)
	if got := string(w.transcript()); !strings.Contains(got, text) || !strings.HasSuffix(got, "exit "+exit+"\n") {
		w.t.Errorf("%s says %s, want %q and exit %s", line, got, text, exit)
	}
}

func TestAnUpgradeChangesNothingTwice(t *testing.T) {
	w := onFolder(t)
	folder := w.env["VERIFYD_DATA_DIR"]
	w.says("store upgrade", "name the data folder, or set --database-url (VERIFYD_DATABASE_URL)", "2")
	w.says("store upgrade "+folder, "end the host", "2")
	w.stop()
	w.says("store upgrade "+folder, "the store has level 1, the newest that this release reads: nothing was changed", "0")
	w.says("store upgrade --yes --json "+folder, "\"from\": 1,\n  \"to\": 1", "0")
	none := filepath.Join(t.TempDir(), "none")
	w.says("store upgrade --yes "+none, "is no data folder", "2")
	if _, err := os.Stat(none); err == nil {
		t.Error("the command made a folder")
	}
	w = onPostgres(t)
	for _, line := range []string{"store upgrade", "store upgrade --yes"} {
		w.says(line, "the store has level 1, the newest that this release reads: nothing was changed", "0")
	}
}

func TestAFolderOfALaterReleaseIsNotDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	folder := datadir.Folder(dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{Level: store.Level + 1})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w := onMemory(t)
	w.clock = clock.System{}
	w.env = map[string]string{"VERIFYD_DATA_DIR": dir}
	for line, exit := range map[string]string{
		"tenant list": "2", "doctor": "1", "store upgrade " + dir: "2", "store check " + dir: "2", "store repair " + dir: "2",
		"store backup " + dir + " " + filepath.Join(t.TempDir(), "backup"):       "2",
		"store copy --from " + dir + " --to " + filepath.Join(t.TempDir(), "to"): "2",
	} {
		w.transcript()
		w.ctl(line)
		got := string(w.transcript())
		if !strings.Contains(got, "store: it was upgraded to level 2, and this build reads level 1: use a newer release\n") || !strings.HasSuffix(got, "exit "+exit+"\n") {
			t.Errorf("%s says %s, want the levels, nothing else, and exit %s", line, got, exit)
		}
	}
}

func TestACopyNeedsTheLevelOfItsSource(t *testing.T) {
	c := onCopies(t)
	from, err := openSource(t.Context(), string(c.folder("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.close() }()
	if from.level != 1 {
		t.Errorf("the source has level %d, want 1", from.level)
	}
	from.level = 2
	c.copy("--from URL --to DIR/there") // a folder that is there is not raised
	for name, want := range map[string]string{
		"there": "target: it has level 1, and the source has level 2: run verifyctl store upgrade for the target first",
		c.url:   "target: it has level 1, and the source has level 2: run verifyctl store upgrade for the target first", "new": "",
	} {
		if !isURL(name) {
			name = string(c.folder(name))
		}
		to, err := openTarget(t.Context(), name, c.clock.Now(), from.level)
		if err != nil {
			t.Fatal(err)
		}
		_, err = storeCopy{}.copy(t.Context(), &session{clock: c.clock, stderr: io.Discard}, from, to, func(context.Context) error { return nil })
		if text := fmt.Sprint(cmp.Or(err, errors.New(""))); text != want {
			t.Errorf("a copy to %s = %s, want %q", name, text, want)
		}
		if err := to.close(); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := journal.Open(t.Context(), c.folder("new").Journal(), journal.Options{}); !errors.Is(err, store.ErrLevel) {
		t.Errorf("the copy in a new folder is opened by this release: %v, %v", j, err)
	}
}

func TestABackupOfALaterReleaseIsRefused(t *testing.T) {
	var archive bytes.Buffer
	w := backup.NewWriter(&archive)
	if err := w.Close(backup.Manifest{Level: store.Level + 1}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	if err := os.WriteFile(file, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	onMemory(t).says("store verify "+file, "store: it was upgraded to level 2, and this build reads level 1: use a newer release", "1")
}

func TestTheDoctorSaysWhenALevelMayBeRaised(t *testing.T) {
	const raise = "run verifyctl store upgrade once you will not go back to the release before: until then, hosts do not use what is new"
	for _, tt := range []struct {
		name  string
		store int
		reads []int // of the live hosts
		dead  []int
		want  finding
	}{
		{"no host", 1, nil, nil, ok("level", "the store has level 1")},
		{"hosts of one release", 1, []int{1, 1}, nil, ok("level", "the store has level 1")},
		{"an upgrade is under way", 1, []int{2, 1}, nil, ok("level", "the store has level 1")},
		{"the hosts are upgraded", 1, []int{2, 3}, nil, warning("level", "the store has level 1, and every host reads level 2", raise)},
		{"a dead host does not count", 1, []int{2}, []int{1}, warning("level", "the store has level 1, and every host reads level 2", raise)},
		{"all is done", 2, []int{2, 2}, nil, ok("level", "the store has level 2")},
	} {
		var st state
		st.Level = tt.store
		for _, reads := range tt.reads {
			h := pgadmin.Host{Alive: true}
			h.Level = reads
			st.hosts = append(st.hosts, h)
		}
		for _, reads := range tt.dead {
			h := pgadmin.Host{}
			h.Level = reads
			st.hosts = append(st.hosts, h)
		}
		if got := level(st); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
