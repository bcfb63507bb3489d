// Two hosts on one data folder: at most one accepts runs, and none is lost without a word.

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/process"
)

// twoHosts is a way in which a second host may get at the folder of the first.
type twoHosts struct {
	name    string
	disturb func(dir string) (second string, err error) // returns the folder of the second host
	ends    bool                                        // the first host ends; otherwise the second one is refused
}

func sh(format string, args ...any) error {
	out, err := exec.Command("sh", "-ec", fmt.Sprintf(format, args...)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// same returns a way that leads to the same path.
func same(command string) func(string) (string, error) {
	return func(dir string) (string, error) { return dir, sh("%s", strings.ReplaceAll(command, "DIR", dir)) }
}

var waysOfTwoHosts = []twoHosts{
	{"nothing happens", same("true"), false},
	{"the lock file is removed", same("rm DIR/journal/lock"), false},
	{"the lock file is replaced", same("cp DIR/journal/lock DIR/l && mv DIR/l DIR/journal/lock"), false},
	{"a link leads to the folder", func(dir string) (string, error) { return dir + ".link", os.Symlink(dir, dir+".link") }, false},
	{"the path has dots", func(dir string) (string, error) {
		return filepath.Dir(dir) + "/./x/../data", sh("mkdir -p %s/x", filepath.Dir(dir))
	}, false},
	{"the folder is moved, and used there", func(dir string) (string, error) { return dir + ".moved", os.Rename(dir, dir+".moved") }, true},
	{"the folder is moved, and a copy takes its place", same("cp -a DIR DIR.copy && mv DIR DIR.old && mv DIR.copy DIR"), true},
	{"tar unpacks a backup over the folder", same("tar -C DIR -cf DIR.tar --exclude=operator.sock . && tar -C DIR -xf DIR.tar"), true},
	{"tar overwrites with what is there", same("tar -C DIR -cf DIR.tar --exclude=operator.sock . && tar -C DIR --overwrite -xf DIR.tar"), false},
	{"cp copies an older state over the folder", same("cp DIR/journal/0000000001.journal DIR.segment && head -c 200 DIR.segment > DIR/journal/0000000001.journal"), true},
	{"the journal is removed, and another one begins", same("rm -r DIR/journal"), true},
	{"the parent of the folder is replaced", func(dir string) (string, error) {
		parent := filepath.Dir(dir)
		return dir, sh("cp -a %[1]s %[1]s.copy && mv %[1]s %[1]s.old && mv %[1]s.copy %[1]s", parent)
	}, true},
}

// tryHost starts the demo on a folder; it may fail.
func tryHost(folder string) (*process.Host, error) {
	return process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: []string{
		asProgram + "=1", "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_DATA_DIR=" + folder,
		"VERIFYD_DISK_RESERVE=134217728", "VERIFYD_LOG_LEVEL=error",
	}})
}

// accepts starts a run, and returns its id; empty if the host does not accept it.
func accepts(h *process.Host) string {
	status, raw, err := tryStart(h.API+onboarding, strings.NewReader(`{"reference_id":"person-1"}`))
	if err != nil || status != http.StatusAccepted && status != http.StatusCreated {
		return ""
	}
	return regexp.MustCompile(`"id":"(.+?)"`).FindStringSubmatch(raw)[1]
}

func TestAtMostOneOfTwoHostsAcceptsRuns(t *testing.T) {
	ways := waysOfTwoHosts
	if undo, err := bindMount(t.TempDir(), t.TempDir()); err == nil {
		undo()
		ways = append(ways, twoHosts{"a bind mount leads to the folder", func(dir string) (string, error) {
			_, err := bindMount(dir, dir+".bound")
			return dir + ".bound", err
		}, false}, twoHosts{"another folder is mounted over the journal", func(dir string) (string, error) {
			err := sh("cp -a %[1]s/journal %[1]s.copy", dir)
			if err == nil {
				_, err = bindMount(dir+".copy", dir+"/journal")
			}
			return dir, err
		}, true})
	} else {
		t.Logf("no bind mounts here: %v", err)
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			way.try(t)
		})
	}
}

// bindMount makes a folder appear at another path, too.
func bindMount(from, at string) (undo func(), err error) {
	if err := os.MkdirAll(at, 0o700); err != nil {
		return nil, err
	}
	return func() { _ = syscall.Unmount(at, 0) }, syscall.Mount(from, at, "", syscall.MS_BIND, "")
}

func (w twoHosts) try(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "parent", "data")
	t.Cleanup(func() { // what is mounted cannot be removed
		for _, at := range []string{dir + ".bound", dir + "/journal"} {
			_ = syscall.Unmount(at, 0) // most are not mounted
		}
	})
	first, err := tryHost(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Kill() })
	before := accepts(first)
	if before == "" {
		t.Fatalf("the first host accepts nothing: %s", first.Log)
	}
	where, err := w.disturb(dir)
	if err != nil {
		t.Fatal(err)
	}
	late := accepts(first) // before it looks at the idle folder
	second, refusal := tryHost(where)
	if refusal == nil {
		t.Cleanup(func() { _ = second.Kill() })
	}
	ended := false
	if w.ends {
		select {
		case <-first.Ended():
			ended = true
		case <-time.After(30 * time.Second):
		}
	}
	after := ""
	if !ended {
		after = accepts(first)
	}
	bySecond := ""
	if refusal == nil {
		bySecond = accepts(second)
	}
	t.Logf("%-48s first host: before %t, right after %t, later %t, ended %t; second host: started %t, accepts %t",
		w.name, before != "", late != "", after != "", ended, refusal == nil, bySecond != "")
	if !w.ends && (refusal == nil || !strings.Contains(refusal.Error(), "another host has the folder")) {
		t.Errorf("the second host: %v, want it refused", refusal)
	}
	if ended != w.ends || w.ends && (late != "" || after != "") {
		t.Errorf("the first host ended: %t, want %t; it accepted %q and %q", ended, w.ends, late, after)
	}
	if w.ends && strings.Count(first.Log.String(), "has accepted nothing since: something else has changed the folder of the journal while this host used it") != 1 {
		t.Errorf("the first host says %s, want one line about its folder", first.Log)
	}
	if !w.ends && (late == "" || after == "") {
		t.Errorf("the first host accepts nothing any more: %s", first.Log)
	}
	if !w.ends {
		w.finds(t, first, dir, before, late, after)
	}
}

// finds starts a host again, and looks for runs.
func (w twoHosts) finds(t *testing.T, h *process.Host, dir string, runs ...string) {
	t.Helper()
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	_, s := startOn(t, datadir.Folder(dir), "127.0.0.1:0")
	for _, id := range runs {
		s.run("GET", s.api+"/v1/runs/"+id, "")
	}
}
