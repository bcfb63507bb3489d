// Signing keys: from a file, or from the database.

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/verifyd/verifyd/adapters/token"
)

// ReadKeys reads a key set from a file.
func ReadKeys(file string) (*token.Keys, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	keys, err := token.ReadKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keys, nil
}

// WriteKeys replaces the key set of a file at once, so that no reader sees a part of it. The
// file keeps its mode.
func WriteKeys(file string, keys *token.Keys) error {
	set, err := keys.PrivateJWKS()
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(file), ".keys-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // it is gone if it was renamed
	_, err = draft.Write(append(set, '\n'))
	if err = errors.Join(err, draft.Chmod(info.Mode().Perm()), draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), file)
}

// NewKeySet returns a JWK set with one new private key.
func NewKeySet() ([]byte, error) {
	keys, err := token.NewKeys()
	if err != nil {
		return nil, err
	}
	return keys.PrivateJWKS()
}
