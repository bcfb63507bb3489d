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

// headlessShell is Chromium without its windows, menus and settings: pages are the same, and
// the tests take three quarters of the processor time.
const headlessShell = "chromium-headless-shell"

// Describe returns one line about the browser of the tests and installs one if
// necessary.
func Describe(ctx context.Context) (string, error) {
	slow := addShell(ctx)
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
	line := strings.TrimSpace(string(out)) + ", " + p.path
	if slow != nil {
		line += fmt.Sprintf(" (its headless shell would be faster, but: %v)", slow)
	}
	return line, nil
}

// find returns a browser on the PATH, or installs one: with apt if possible,
// otherwise from npm.
func find(ctx context.Context) (program, error) {
	p, aptErr := findOrInstallByApt(ctx)
	if p.path != "" {
		return p, nil
	}
	p, err := install(ctx)
	if err != nil {
		return program{}, errors.Join(errMissing, aptErr, fmt.Errorf("installing from npm failed: %w", err))
	}
	return p, nil
}

// findOrInstallByApt returns no program and no error if this user cannot install with
// apt. It holds the lock during the lookup, too, because a partly installed package
// may be on the PATH.
func findOrInstallByApt(ctx context.Context) (program, error) {
	if !mayInstall() {
		return onPath(), nil
	}
	unlock, err := lock()
	if err != nil {
		return program{}, err
	}
	defer unlock()
	if p := onPath(); p.path != "" {
		return p, nil
	}
	if err = installByApt(ctx, headlessShell); err != nil {
		err = installByApt(ctx, "chromium") // not every system has the shell apart
	}
	return onPath(), err
}

// addShell adds the headless shell to the installed Chromium of Debian. It changes no other
// package, so it fails if Debian has only another version.
func addShell(ctx context.Context) error {
	if !mayInstall() {
		return nil
	}
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	version, err := exec.CommandContext(ctx, "dpkg-query", "--show", "--showformat=${Version}", "chromium-common").Output()
	if err != nil || onPath().shell {
		return nil
	}
	return installByApt(ctx, headlessShell+"="+string(version))
}

// mayInstall reports whether apt is there and this user may install with it.
func mayInstall() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

func installByApt(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, aptTimeout)
	defer cancel()
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", name}} {
		c := exec.CommandContext(ctx, "apt-get", args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s failed: %w: %.500s", args[0], err, out)
		}
	}
	return nil
}

// onPath returns the first browser on the PATH: a headless shell, if there is one.
func onPath() program {
	for _, name := range []string{headlessShell, "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return program{path: path, shell: strings.HasSuffix(name, "-headless-shell")}
		}
	}
	return program{}
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
