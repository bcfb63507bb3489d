// Finding and installing the browser.

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errMissing says what to do when nothing is found.
var errMissing = errors.New("no Chromium found: install one that is called chromium, chromium-browser or google-chrome on the PATH (Debian, Ubuntu: apt-get install chromium), or install npm, which can provide one on Linux (x86-64)")

// aptTimeout bounds an installation by apt.
const aptTimeout = 10 * time.Minute

// program is the command that starts the browser.
type program struct {
	path  string
	env   []string // in addition to the environment
	shell bool     // a headless shell, which has no permission prompts
}

// Describe returns one line about the browser of the tests and installs one if
// necessary.
func Describe(ctx context.Context) (string, error) {
	p, err := find(ctx)
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, p.path, "--version")
	c.Env = append(os.Environ(), p.env...)
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", p.path, err)
	}
	return strings.TrimSpace(string(out)) + ", " + p.path, nil
}

// find returns a browser on the PATH, or installs one: with apt if possible,
// otherwise from npm.
func find(ctx context.Context) (program, error) {
	path, aptErr := findOrInstallByApt(ctx)
	if path != "" {
		return program{path: path}, nil
	}
	p, err := install(ctx)
	if err != nil {
		return program{}, errors.Join(errMissing, aptErr, fmt.Errorf("installing from npm failed: %w", err))
	}
	return p, nil
}

// findOrInstallByApt returns no path and no error if this user cannot install with
// apt. It holds the lock during the lookup, too, because a partly installed package
// may be on the PATH.
func findOrInstallByApt(ctx context.Context) (string, error) {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return onPath(), nil
	}
	unlock, err := lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if path := onPath(); path != "" {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(ctx, aptTimeout)
	defer cancel()
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "chromium"}} {
		c := exec.CommandContext(ctx, apt, args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get %s failed: %w: %.500s", args[0], err, out)
		}
	}
	return onPath(), nil
}

func onPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// lock prevents the tests of two packages from installing at the same time.
func lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "verifyd-install-chromium.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the installation of Chromium: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the installation of Chromium: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
