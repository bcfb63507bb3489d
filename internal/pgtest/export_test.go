// What tests reach besides the exported names.

package pgtest

import (
	"context"

	"github.com/verifyd/verifyd/internal/npm"
)

// ErrMissing is what is said when there is no PostgreSQL.
func ErrMissing() error { return errMissing }

// FindIn looks in the places given, and installs nothing.
func FindIn(named, path string, systems ...string) (string, error) {
	return places{named: named, path: path, systems: systems}.find()
}

// NPMName is the package for a system and a processor.
func NPMName(system, processor string) string { return npmName(system, processor) }

// InstallWith installs with an npm and a cache of the caller.
func InstallWith(ctx context.Context, i npm.Installer, name string) (string, error) {
	return installWith(ctx, i, name)
}

// Folder is where a server keeps its files.
func Folder(s *Server) string { return s.folder.path }
