// Files that are generated once and kept for ever.

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep returns the content of a file. If there is no file, Keep first writes what generate
// returns: only the user of the process can read it, and it survives a loss of power. A file
// that exists is never replaced, so that processes that call Keep at the same time get
// the same content.
func Keep(file string, generate func() ([]byte, error)) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return raw, err
	}
	content, err := generate()
	if err != nil {
		return nil, err
	}
	if err := create(file, content); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create %s: %w", file, err)
	}
	return os.ReadFile(file)
}

// create writes a file completely before it gets its name. It returns fs.ErrExist if there is
// a file of this name.
func create(file string, content []byte) error {
	folder := filepath.Dir(file)
	draft, err := os.CreateTemp(folder, ".draft-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // the file has its content
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), file); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the names of the files in a folder survive a loss of power.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
