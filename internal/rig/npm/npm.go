// Package npm installs pinned npm packages that provide missing programs for tests.
package npm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// timeout bounds the installation of one package.
const timeout = 5 * time.Minute

// Package is one version of an npm package.
type Package struct{ Name, Version string }

// Dir returns the folder of the package's files below the installation folder.
func (p Package) Dir(in string) string {
	return filepath.Join(in, "node_modules", filepath.FromSlash(p.Name))
}

// Installer installs packages.
type Installer struct {
	NPM   string // the npm program
	Cache string // has a folder for each installed package
}

// Find returns an Installer that uses the npm on the PATH and the cache of Cache.
func Find() (Installer, error) {
	program, err := exec.LookPath("npm")
	if err != nil {
		return Installer{}, err
	}
	cache, err := Cache()
	return Installer{NPM: program, Cache: cache}, err
}

// Cache returns the folder for files that tests keep. It belongs to the current user;
// that of root is below /var/cache, since other users cannot enter root's home folder.
func Cache() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/verifyd-test", nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "verifyd-test"), err
}

// Install returns the installation folder of p and installs p if necessary. It runs
// no script of the package; finish completes the installation. A lock ensures that
// only one process installs. A file named "finished" marks a complete installation.
func (i Installer) Install(ctx context.Context, p Package, finish func(ctx context.Context, dir string) error) (dir string, err error) {
	dir = filepath.Join(i.Cache, strings.NewReplacer("@", "", "/", "-").Replace(p.Name)+"-"+p.Version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(i.Cache, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	finished := filepath.Join(dir, "finished")
	if _, err := os.Stat(finished); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(ctx, i.NPM, "install", "--prefix", dir,
		"--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", p.Name+"@"+p.Version)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w: %s", p.Name, err, strings.TrimSpace(string(out)))
	}
	if err := finish(ctx, dir); err != nil {
		return "", fmt.Errorf("install %s: %w", p.Name, err)
	}
	return dir, os.WriteFile(finished, nil, 0o644)
}
