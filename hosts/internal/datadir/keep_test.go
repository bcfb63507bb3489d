// Tests of the files that are generated once.

package datadir_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
)

func TestAllWhoKeepAFileGetTheSameContent(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "secret")
	var got [20]string
	var all sync.WaitGroup
	for n := range got {
		all.Go(func() {
			raw, err := datadir.Keep(file, func() ([]byte, error) { return []byte(rand.Text()), nil })
			if err != nil {
				t.Error(err)
			}
			got[n] = string(raw)
		})
	}
	all.Wait()
	for _, one := range got {
		if one == "" || one != got[0] {
			t.Errorf("Keep = %q, and %q for another", got[0], one)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v; want only the file", entries, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestAFileThatExistsIsNotGenerated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	failure := errors.New("no secret")
	generate := func() ([]byte, error) { return nil, failure }
	if raw, err := datadir.Keep(file, generate); !errors.Is(err, failure) {
		t.Errorf("Keep = %q, %v, want the error of generate", raw, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat = %v, want no file", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if raw, err := datadir.Keep(file, generate); err != nil || len(raw) > 0 {
		t.Errorf("Keep = %q, %v, want the empty content", raw, err)
	}
}

func TestADataFolderIsForItsUser(t *testing.T) {
	folder := datadir.Folder(filepath.Join(t.TempDir(), "new", "data"))
	for _, want := range []bool{true, false} {
		if made, warning, err := folder.Create(); made != want || warning != "" || err != nil {
			t.Fatalf("Create = %t, %q, %v; want %t", made, warning, err, want)
		}
	}
	info, err := os.Stat(string(folder))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the folder has the mode %v, %v; want 0700", info.Mode(), err)
	}
	if err := os.Chmod(string(folder), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, warning, err := folder.Create(); warning == "" || err != nil {
		t.Errorf("Create of a folder with the mode 0750 = %q, %v, want a warning", warning, err)
	}
}

func TestOnlyAFolderWithoutFilesIsDiscarded(t *testing.T) {
	folder := datadir.Folder(filepath.Join(t.TempDir(), "data"))
	if err := os.MkdirAll(filepath.Join(folder.Documents(), "incoming"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.SearchKey(), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder.Discard()
	if raw, err := os.ReadFile(folder.SearchKey()); err != nil || string(raw) != "key" {
		t.Errorf("the search key is %q, %v; want it kept", raw, err)
	}
	if err := os.Remove(folder.SearchKey()); err != nil {
		t.Fatal(err)
	}
	folder.Discard()
	if _, err := os.Stat(string(folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat = %v, want no folder", err)
	}
}
