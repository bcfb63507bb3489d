// The programs, and the archives that have them.

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// programs are the two programs for a target.
type programs struct {
	target             target
	verifyd, verifyctl string // files
}

// stamped is the variable that has version, commit and date, see cli.ReadBuild.
const stamped = "github.com/verifyd/verifyd/hosts/internal/cli.released"

// compile builds both programs: static, without symbols, without the names of folders.
func (r *release) compile(ctx context.Context, work string, t target) (programs, error) {
	folder := filepath.Join(work, t.String())
	stamp := fmt.Sprintf("v%s %s %s", r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags=-s -w -buildid= -X '"+stamped+"="+stamp+"'", "-o", folder+"/", "./hosts/verifyd", "./hosts/verifyctl")
	cmd.Dir, cmd.Stderr = r.source, r.stderr
	// What the user has set for other builds must not change the bytes.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOFLAGS", "GOEXPERIMENT", "GOFIPS140"}, name)
	})
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOWORK=off", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0")
	if err := cmd.Run(); err != nil {
		return programs{}, fmt.Errorf("go build for %s: %w", t, err)
	}
	return programs{target: t, verifyd: filepath.Join(folder, "verifyd"), verifyctl: filepath.Join(folder, "verifyctl")}, nil
}

// file is a file of an archive or a package.
type file struct {
	name    string // such as usr/bin/verifyd; a folder ends with a slash
	mode    os.FileMode
	source  string // the file that has the content, unless content is set
	content []byte
	owner   int
}

// archive writes the .tar.gz of a target.
func (r *release) archive(p programs, notices []file) (err error) {
	out, err := os.Create(filepath.Join(r.out, fmt.Sprintf("verifyd_%s_%s.tar.gz", r.version, p.target)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zipped := gzip.NewWriter(out)
	files := append([]file{{name: "verifyd", mode: 0o755, source: p.verifyd}, {name: "verifyctl", mode: 0o755, source: p.verifyctl}}, notices...)
	return errors.Join(r.tar(zipped, files), zipped.Close())
}

// tar writes files of the date of the release that belong to root, or to their owner.
func (r *release) tar(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		content := f.content
		if f.source != "" {
			var err error
			if content, err = os.ReadFile(f.source); err != nil {
				return err
			}
		}
		h := tar.Header{
			Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(content)), ModTime: r.date, Typeflag: tar.TypeReg,
			Uid: f.owner, Gid: f.owner, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := t.Write(content); err != nil {
			return err
		}
	}
	return t.Close()
}
