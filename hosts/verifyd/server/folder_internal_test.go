package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
)

// A folder with data is not to be replaced by another one.
func TestTheAdviceOnAFolderKeepsItsData(t *testing.T) {
	folder := datadir.Folder(filepath.Join(t.TempDir(), "data"))
	if got, want := advise(folder, fs.ErrPermission).Error(), "choose a folder that the user of this process can write"; !strings.Contains(got, want) {
		t.Errorf("a folder without data: %s, want %s", got, want)
	}
	if err := os.MkdirAll(folder.Journal(), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := advise(folder, fs.ErrPermission).Error(), fmt.Sprintf("chown -R %d %s", os.Geteuid(), folder); !strings.HasSuffix(got, want) {
		t.Errorf("a folder with data: %s, want %s", got, want)
	}
}

func TestAFolderIsTriedOnceInAWhile(t *testing.T) {
	f := &dataFolder{Folder: datadir.Folder(t.TempDir())}
	now := time.Now()
	if err := f.writable(now); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(string(f.Folder)); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v; want nothing", left, err)
	}
	if err := os.Remove(string(f.Folder)); err != nil {
		t.Fatal(err)
	}
	if err := f.writable(now.Add(writableFor - 1)); err != nil {
		t.Errorf("the folder was tried again at once: %v", err)
	}
	if err := f.writable(now.Add(writableFor)); !errors.Is(err, verification.ErrUnavailable) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v, want ErrUnavailable with its cause", err)
	}
	if err := os.Mkdir(string(f.Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.writable(now.Add(2 * writableFor)); err != nil {
		t.Errorf("the folder is back: %v", err)
	}
}
