package server

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/datadir"
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
