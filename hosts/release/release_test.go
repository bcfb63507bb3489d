package main_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

const (
	version = "0.1.0-rc.1"
	commit  = "0f841b5c0e1a"
	date    = "2026-11-29T10:00:00Z"
)

// repository is the folder of the repository.
const repository = "../.."

// releaser is the command, which TestMain builds.
var releaser string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "verifyd-releaser-")
	if err == nil {
		releaser = filepath.Join(folder, "release")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", releaser, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// build releases a source folder, and returns the folder of the release.
func build(t *testing.T, source, targets string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	said := command(t, releaser, "-version", version, "-commit", commit, "-date", date, "-source", source, "-out", out, "-targets", targets)
	t.Log(string(said))
	return out
}

// command runs a program and returns what it prints on stdout.
func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return out
}

// tools are the programs of Debian that look at a release, with their packages.
var tools = map[string]string{
	"bwrap": "bubblewrap", "dpkg-deb": "dpkg", "rpm": "rpm", "rpm2cpio": "rpm2cpio", "runc": "runc",
	"systemd-analyze": "systemd", "systemd-sysusers": "systemd", "umoci": "umoci",
}

// need installs a program of Debian, as root, if it is missing.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getuid() != 0 {
			t.Fatalf("%s is missing: install the package %s", name, tools[name])
		}
		command(t, "apt-get", "update", "-q")
		command(t, "apt-get", "install", "-qy", "-o", "DPkg::Lock::Timeout=120", "--no-install-recommends", tools[name])
	}
}

// stub writes a repository with two programs that print a line, so that all of a release but its compiling is quick.
func stub(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	hello := "package main\n\nfunc main() { println(\"hello\") }\n"
	for name, text := range map[string]string{
		"go.mod": "module github.com/verifyd/verifyd\n\ngo 1.26.0\n", "hosts/verifyd/main.go": hello, "hosts/verifyctl/main.go": hello,
	} {
		write(t, filepath.Join(folder, name), []byte(text), 0o644)
	}
	for _, name := range []string{"LICENSE", "docs/changelog.md", "internal/typeset/fonts/OFL.txt"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), text, 0o644)
	}
	return folder
}

func write(t *testing.T, file string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, mode)); err != nil {
		t.Fatal(err)
	}
}

// contents returns the checksum of each file of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return sums
}

const everyTarget = "linux/amd64,linux/arm64,darwin/arm64"

func TestAReleaseHasEveryFileAndTheSameBytes(t *testing.T) {
	first, second := contents(t, build(t, stub(t), everyTarget)), build(t, stub(t), everyTarget)
	want := []string{
		"SHA256SUMS", "verifyd-0.1.0~rc.1-1.aarch64.rpm", "verifyd-0.1.0~rc.1-1.x86_64.rpm", "verifyd_0.1.0-rc.1_darwin_arm64.tar.gz", "verifyd_0.1.0-rc.1_image.tar",
		"verifyd_0.1.0-rc.1_licences.txt", "verifyd_0.1.0-rc.1_linux_amd64.tar.gz", "verifyd_0.1.0-rc.1_linux_arm64.tar.gz", "verifyd_0.1.0-rc.1_sbom.cdx.json",
		"verifyd_0.1.0~rc.1-1_amd64.deb", "verifyd_0.1.0~rc.1-1_arm64.deb",
	}
	sums := contents(t, second)
	for _, name := range want {
		if first[name] == "" || first[name] != sums[name] {
			t.Errorf("%s is %q, then %q", name, first[name], sums[name])
		}
	}
	if len(first) != len(want) {
		t.Errorf("the release has the files %v, want %v", first, want)
	}
	text, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	if err != nil || strings.Count(string(text), "\n") != len(want)-1 {
		t.Errorf("the checksums are %s, %v", text, err)
	}
	for line := range strings.Lines(string(text)) {
		if sum, name, _ := strings.Cut(strings.TrimSpace(line), "  "); sums[name] != sum {
			t.Errorf("%s has the checksum %s, want %s", name, sum, sums[name])
		}
	}
	images(t, second, func(arch string, image v1.Image) {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if config.Architecture != arch || c.User != "65532:65532" || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/usr/bin/verifyd", "health"}) ||
			c.Labels["org.opencontainers.image.version"] != version || c.Labels["org.opencontainers.image.revision"] != commit {
			t.Errorf("the image of %s has the configuration %+v", arch, config)
		}
		files := untar(t, mutate.Extract(image), t.TempDir())
		for _, name := range files {
			if strings.HasSuffix(name, "bin/sh") || name == "etc/passwd" {
				t.Errorf("the image of %s has %s", arch, name)
			}
		}
		for _, name := range []string{"usr/bin/verifyd", "usr/share/doc/verifyd/licences.txt", "usr/share/doc/verifyd/changelog.md"} {
			if !slices.Contains(files, name) {
				t.Errorf("the image of %s lacks %s: %v", arch, name, files)
			}
		}
	})
}

func TestAReleaseNeedsAVersionAndAKnownLicence(t *testing.T) {
	source := stub(t)
	args := []string{"-commit", commit, "-date", date, "-source", source, "-out", filepath.Join(t.TempDir(), "dist"), "-targets", "linux/amd64"}
	if out, err := exec.CommandContext(t.Context(), releaser, append(args, "-version", "next")...).CombinedOutput(); err == nil || !strings.Contains(string(out), `-version "next": must be like 0.1.0`) {
		t.Errorf("the version next gives %v, %s", err, out)
	}
	for text, want := range map[string]string{
		"All rights reserved.\n": "Noto fonts: no licence was found",
		gpl(t):                   "Noto fonts: OFL.txt has the licence GPL-3.0-or-later, which is not accepted",
	} {
		write(t, filepath.Join(source, "internal/typeset/fonts/OFL.txt"), []byte(text), 0o644)
		if out, err := exec.CommandContext(t.Context(), releaser, append(args, "-version", version)...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("the licence %.20q gives %v, %s, want %s", text, err, out, want)
		}
	}
}

// gpl returns a notice of a licence that is not accepted.
func gpl(t *testing.T) string {
	t.Helper()
	return "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software " +
		"Foundation, either version 3 of the License, or (at your option) any later version.\n"
}

func TestTheUnitIsHardened(t *testing.T) {
	need(t, "systemd-analyze")
	unit, err := filepath.Abs("package/verifyd.service")
	if err != nil {
		t.Fatal(err)
	}
	command(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", unit) // 2.0, in tenths
}

func equal(a, b map[string]string) bool {
	for name := range b {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

// copied returns a folder with what git would commit.
func copied(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	from, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	listed := command(t, "git", "-c", "safe.directory="+from, "-C", from, "ls-files", "--cached", "--others", "--exclude-standard")
	for name := range strings.Lines(string(listed)) {
		name = strings.TrimSpace(name)
		text, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) { // deleted, not yet committed
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), text, 0o644)
	}
	return folder
}

// describes checks that the bill of materials and the licences name what the programs link.
func describes(t *testing.T, bill, licences string) {
	t.Helper()
	var bom struct {
		Format     string `json:"bomFormat"`
		Components []struct {
			Name, Version, PURL string
			Licenses            []struct{ License struct{ ID string } }
		}
	}
	text, err := os.ReadFile(bill)
	if err != nil || json.Unmarshal(text, &bom) != nil || bom.Format != "CycloneDX" || len(bom.Components) < 50 {
		t.Fatalf("the bill of materials has %d components, %v", len(bom.Components), err)
	}
	texts, err := os.ReadFile(licences)
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(texts, []byte("Copyright")); got < len(bom.Components) {
		t.Errorf("%d components have %d notices of copyright", len(bom.Components), got)
	}
	for _, c := range bom.Components {
		if len(c.Licenses) == 0 || !bytes.Contains(texts, []byte("\n"+c.Name+" "+c.Version+": ")) {
			t.Errorf("%s has the licences %v, or no text", c.Name, c.Licenses)
		}
	}
}

// readmeInstalls checks that each way to install that the README names takes one file of the release.
func readmeInstalls(t *testing.T, dist string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`dist/([^\s:]+)`).FindAllStringSubmatch(string(text), -1)
	for _, m := range named {
		pattern := strings.NewReplacer("amd64", runtime.GOARCH, "x86_64", map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]).Replace(m[1])
		if found, err := filepath.Glob(filepath.Join(dist, pattern)); err != nil || len(found) != 1 {
			t.Errorf("README.md installs dist/%s, which is %v, %v", m[1], found, err)
		}
	}
	if len(named) < 4 {
		t.Errorf("README.md names %d files of a release: are they found?", len(named))
	}
}

// images calls do with the image of each architecture.
func images(t *testing.T, dist string, do func(arch string, image v1.Image)) {
	t.Helper()
	archive, err := os.Open(filepath.Join(dist, "verifyd_"+version+"_image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	folder := t.TempDir()
	untar(t, archive, folder)
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := all.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatalf("the layout has %+v, %v", list, err)
	}
	index, err := all.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = index.IndexManifest(); err != nil || len(list.Manifests) == 0 {
		t.Fatalf("the index has %+v, %v", list, err)
	}
	for _, m := range list.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		do(m.Platform.Architecture, image)
	}
}

// untar writes the files of an archive, and returns their names.
func untar(t *testing.T, r io.Reader, folder string) (names []string) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		unpack(t, folder, h.Name, h.FileInfo().Mode(), archive)
	}
}

func uncpio(t *testing.T, content []byte, folder string) {
	t.Helper()
	for archive := cpio.NewReader(bytes.NewReader(content)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		unpack(t, folder, h.Name, h.FileInfo().Mode(), archive)
	}
}

func unpack(t *testing.T, folder, name string, mode os.FileMode, r io.Reader) {
	t.Helper()
	name = filepath.Join(folder, filepath.Clean("/"+name))
	if mode.IsDir() {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, text, mode.Perm())
}
