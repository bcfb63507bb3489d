package pgschema

import (
	"context"
	"io/fs"
)

// UpFrom migrates by other files.
func UpFrom(ctx context.Context, url string, files fs.FS) error {
	_, err := up(ctx, url, files)
	return err
}

// Files are the embedded ones.
func Files() fs.FS { return migrations }
