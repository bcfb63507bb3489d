// Where the Chromium comes from.

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// errMissing is all that a developer has to know.
var errMissing = errors.New("no Chromium found: install one that is called chromium, chromium-browser or google-chrome on the PATH (Debian, Ubuntu: apt-get install chromium)")

// find looks for a browser, and installs one where it may. Whoever may install
// waits for another test that does: what is half installed is on the PATH, too.
func find(ctx context.Context) (string, error) {
	apt, err := exec.LookPath("apt-get")
	installs := err == nil && os.Geteuid() == 0
	if installs {
		unlock, err := lock()
		if err != nil {
			return "", err
		}
		defer unlock()
	}
	if path := onPath(); path != "" {
		return path, nil
	}
	if !installs {
		return "", errMissing
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "chromium"}} {
		c := exec.CommandContext(ctx, apt, args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w; apt-get %s failed: %w: %.500s", errMissing, args[0], err, out)
		}
	}
	if path := onPath(); path != "" {
		return path, nil
	}
	return "", errMissing
}

func onPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// lock keeps the tests of two packages from installing at once.
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
