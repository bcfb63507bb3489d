// Names exported for tests.

package pgtest

import (
	"context"

	"github.com/verifyd/verifyd/internal/rig/npm"
)

// ErrMissing is the error when there is no PostgreSQL.
func ErrMissing() error { return errMissing }

// FindIn searches the given locations and installs nothing.
func FindIn(named, path string, systems ...string) (string, error) {
	return locations{named: named, path: path, systems: systems}.find()
}

// NPMName returns the package for a system and a processor.
func NPMName(system, processor string) string { return npmName(system, processor) }

// InstallWith installs with the caller's npm and cache.
func InstallWith(ctx context.Context, i npm.Installer, name string) (string, error) {
	return installWith(ctx, i, name)
}

// Temporary returns a folder for temporary files that the user of a server can enter.
func Temporary() (string, error) { return temporary(true) }

// Folder returns the folder of a server's files.
func Folder(s *Server) string { return s.folder.path }

// MakeTemplate makes a template below a folder, or returns the one that is there.
func MakeTemplate(ctx context.Context, bin, in string) (string, error) {
	t, err := makeTemplate(ctx, bin, in)
	return string(t), err
}
