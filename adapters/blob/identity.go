// The identity of a store of documents.

package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// identityFile has the identity of a folder.
const identityFile = ".identity"

// Identity returns a text that identifies the folder: every process that uses the folder
// gets the same. The first call writes it into the folder.
func (s *folderStore) Identity(context.Context) (string, error) {
	raw, err := s.root.ReadFile(identityFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.writeIdentity(); err == nil {
			raw, err = s.root.ReadFile(identityFile)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the identity of the folder of documents: %w", err)
	}
	return string(raw), nil
}

// writeIdentity writes the file completely before it has its name. The first of several
// processes wins.
func (s *folderStore) writeIdentity() error {
	identity := "folder-" + rand.Text()
	if err := s.root.MkdirAll(incoming, folderMode); err != nil {
		return err
	}
	name := path.Join(incoming, identity)
	if err := s.root.WriteFile(name, []byte(identity), fileMode); err != nil {
		return err
	}
	err := s.root.Link(name, identityFile)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, s.root.Remove(name))
}

// Identity returns a text that identifies the memory of this process.
func (s *memoryStore) Identity(context.Context) (string, error) { return s.identity, nil }
