// The programs that the tests run: the host, and those of Debian.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program returns the file of a program of one of Debian's packages: on the PATH, else out of the package, which is
// unpacked in the cache, not installed, so that no service starts.
func program(t *testing.T, pkg, name string) string {
	t.Helper()
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "verifyd-"+pkg)
	find := func() string {
		for _, folder := range []string{"usr/bin", "usr/sbin"} {
			if file := filepath.Join(cache, folder, name); exec.Command("test", "-x", file).Run() == nil {
				return file
			}
		}
		return ""
	}
	if file := find(); file != "" {
		return file
	}
	if err := unpack(t.Context(), pkg, cache); err != nil {
		t.Fatalf("no %s found: install it (Debian, Ubuntu: apt-get install %s; macOS: brew install %[1]s): %v", name, pkg, err)
	}
	return find()
}

// unpack puts a package of Debian into a folder.
func unpack(ctx context.Context, pkg, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(to), "verifyd-"+pkg+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	run := func(args ...string) error {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Dir = work
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.500s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if first := run("apt-get", "download", pkg); first != nil { // there may be no lists yet
		if err := run("apt-get", "update"); err != nil {
			return errors.Join(first, err)
		}
		if err := run("apt-get", "download", pkg); err != nil {
			return err
		}
	}
	packages, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("apt-get downloaded %q: %w", packages, err)
	}
	if err := run("dpkg-deb", "--extract", packages[0], "files"); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, "files"), to); err != nil {
		if _, there := os.Stat(to); there != nil { // else another test was faster
			return err
		}
	}
	return nil
}

var built struct {
	sync.Once
	file string
	err  error
}

// host builds verifyd, once, and returns its file.
func host(ctx context.Context, t *testing.T) string {
	t.Helper()
	built.Do(func() {
		folder, err := os.MkdirTemp("", "verifyd-host-")
		if err != nil {
			built.err = err
			return
		}
		built.file = filepath.Join(folder, "verifyd")
		if out, err := exec.CommandContext(ctx, "go", "-C", "../..", "build", "-buildvcs=false", "-o", built.file, "./hosts/verifyd").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.file
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.file != "" {
		_ = os.RemoveAll(filepath.Dir(built.file))
	}
	os.Exit(code)
}
