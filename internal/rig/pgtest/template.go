// The template: the files of a new server, which every server copies.

package pgtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// template is a folder with the data of a new server and the password of its owner. It is
// complete: makeTemplate makes it under another name. Nothing starts a server in it.
type template string

// initOptions are the options of initdb. The files that it writes also depend on the programs.
func initOptions() []string {
	return []string{
		"--username=postgres", "--auth-host=scram-sha-256", "--auth-local=trust",
		"--encoding=UTF8", "--locale=C", "--lc-ctype=" + letters, "--no-sync", "--no-instructions",
	}
}

// makeTemplate returns the template of the programs in bin below a folder, and makes it if it
// is not there. Several test binaries may make it at once: that of the first one remains.
func makeTemplate(ctx context.Context, bin, in string) (template, error) {
	programs, err := fingerprint(bin)
	if err != nil {
		return "", err
	}
	made := filepath.Join(in, "postgresql-"+programs)
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		return template(made), err
	}
	f, err := newFolder(in)
	if err != nil {
		return "", err
	}
	t := template(filepath.Join(f.path, "template"))
	if err = t.initialize(ctx, f, bin); err == nil {
		err = os.Rename(string(t), made)
	}
	if errors.Is(err, fs.ErrExist) { // another test binary was faster
		err = nil
	}
	return template(made), errors.Join(err, f.remove())
}

// fingerprint differs from that of other programs, versions and options.
func fingerprint(bin string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"initdb", "postgres"} {
		file, err := filepath.EvalSymlinks(filepath.Join(bin, name))
		if err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, file, info.Size(), info.ModTime().UnixNano())
	}
	fmt.Fprintln(sum, initOptions())
	return fmt.Sprintf("%.8x", sum.Sum(nil)), nil
}

// initialize writes the template in a folder.
func (t template) initialize(ctx context.Context, f *folder, bin string) error {
	secret := password()
	stored, err := verifier(secret)
	if err != nil {
		return err
	}
	file := filepath.Join(f.path, "verifier")
	if err := errors.Join(os.Mkdir(string(t), 0o700), handOver(string(t)), f.write(t.password(), secret), f.write(file, stored)); err != nil {
		return err
	}
	p, err := launch(f.path, filepath.Join(bin, "initdb"), append(initOptions(), "--pgdata="+t.data(), "--pwfile="+file)...)
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return errors.Join(fmt.Errorf("wait for initdb: %w", err), p.kill())
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, p.log)
	}
	return nil
}

func (t template) data() string { return filepath.Join(string(t), "data") }

func (t template) password() string { return filepath.Join(string(t), "password") }

// copyTo copies the data to a new folder and returns the password.
func (t template) copyTo(data string) (secret string, err error) {
	raw, err := os.ReadFile(t.password())
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(data, os.DirFS(t.data())); err != nil {
		return "", err
	}
	if err := os.Chmod(data, 0o700); err != nil { // else PostgreSQL does not start
		return "", err
	}
	return string(raw), filepath.WalkDir(data, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, handOver(path))
	})
}
