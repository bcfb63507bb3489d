// The packages of Debian and Red Hat.

package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// parts has the files of the packages beside the programs: the unit, the user, the settings and the scripts.
//
//go:embed package
var parts embed.FS

// installed are the files of parts with their places.
var installed = map[string]string{ //nolint:gochecknoglobals // a constant
	"verifyd.service":  "/usr/lib/systemd/system/verifyd.service",
	"verifyd.sysusers": "/usr/lib/sysusers.d/verifyd.conf",
	"verifyd.env":      "/etc/verifyd/verifyd.env",
	"postinstall.sh":   "",
	"preremove.sh":     "",
	"postremove.sh":    "",
}

// packages writes the .deb and the .rpm of a target.
func (r *release) packages(p programs, notices []file) error {
	folder, err := os.MkdirTemp(filepath.Dir(p.verifyd), "package-")
	if err != nil {
		return err
	}
	contents := files.Contents{
		r.content(p.verifyd, "/usr/bin/verifyd", 0o755, ""),
		r.content(p.verifyctl, "/usr/bin/verifyctl", 0o755, ""),
		{Destination: "/etc/verifyd", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.date}},
	}
	for name, place := range installed {
		text, err := parts.ReadFile("package/" + name)
		if err != nil {
			return err
		}
		source := filepath.Join(folder, name)
		if err := os.WriteFile(source, text, 0o644); err != nil {
			return err
		}
		switch path.Ext(name) {
		case ".env": // it may get secrets
			contents = append(contents, r.content(source, place, 0o600, files.TypeConfigNoReplace))
		case ".service", ".sysusers":
			contents = append(contents, r.content(source, place, 0o644, ""))
		}
	}
	for _, n := range notices {
		source := filepath.Join(folder, n.name)
		if err := os.WriteFile(source, n.content, 0o644); err != nil {
			return err
		}
		contents = append(contents, r.content(source, "/usr/share/doc/verifyd/"+n.name, 0o644, ""))
	}
	script := func(name string) string { return filepath.Join(folder, name) }
	for _, format := range []string{"deb", "rpm"} {
		info := &nfpm.Info{
			Name: "verifyd", Arch: p.target.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.date,
			Section: "net", Priority: "optional", Maintainer: "verifyd <verifyd@users.noreply.github.com>", Homepage: "https://github.com/verifyd/verifyd",
			License: "Apache-2.0", Description: "Identity and business verification as workflows\nThe host verifyd and the operator's tool verifyctl.",
			DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Contents: contents,
				Scripts:  nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
				Deb:      nfpm.Deb{Compression: "gzip"},
				RPM:      nfpm.RPM{Compression: "gzip", BuildHost: "release", Group: "System Environment/Daemons"},
			},
		}
		if err := r.pack(format, info); err != nil {
			return fmt.Errorf("%s of %s: %w", format, p.target, err)
		}
	}
	return nil
}

func (r *release) content(source, place string, mode os.FileMode, kind string) *files.Content {
	return &files.Content{Source: source, Destination: place, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date}}
}

func (r *release) pack(format string, info *nfpm.Info) (err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, out), out.Close())
}
