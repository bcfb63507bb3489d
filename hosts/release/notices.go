// What a release contains: the bill of materials, and the licences.

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// accepted are the licences that what we link may have: they let a program with it be passed on.
var accepted = regexp.MustCompile(`^(Apache-2\.0|MIT(-0)?|BSD-[123]-Clause.*|0BSD|ISC|MPL-2\.0.*|Zlib|OFL-1\.1.*|Unlicense|CC0-1\.0|BSL-1\.0|Unicode.*)$`)

// licenceFile matches the names of files with licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|ofl)([-._].*)?$`)

// component is a module that the programs link, or another part of them.
type component struct {
	name, version, sum string
	folder             string
	licences           []string // as SPDX names them
	texts              string
}

// describe writes the bill of materials and the licences, and returns them with the changelog: the files that every archive, package
// and image has.
func (r *release) describe(ctx context.Context, built []programs) ([]file, error) {
	parts, toolchain, err := r.components(ctx, built)
	if err != nil {
		return nil, err
	}
	var texts strings.Builder
	fmt.Fprintf(&texts, "verifyd %s contains what is listed here, under these licences.\n", r.version)
	for i := range parts {
		if err := parts[i].readLicences(); err != nil {
			return nil, err
		}
		fmt.Fprintf(&texts, "\n%[1]s\n%[2]s %[3]s: %[4]s\n%[1]s\n%[5]s", strings.Repeat("=", 80), parts[i].name, parts[i].version,
			strings.Join(parts[i].licences, ", "), parts[i].texts)
	}
	bill, err := r.bill(parts, toolchain)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	changelog, err := os.ReadFile(filepath.Join(r.source, "docs/changelog.md"))
	if err != nil {
		return nil, err
	}
	base := filepath.Join(r.out, "verifyd_"+r.version)
	err = errors.Join(os.WriteFile(base+"_licences.txt", []byte(texts.String()), 0o644), os.WriteFile(base+"_sbom.cdx.json", bill, 0o644))
	return []file{
		{name: "LICENSE", mode: 0o644, content: licence},
		{name: "changelog.md", mode: 0o644, content: changelog},
		{name: "licences.txt", mode: 0o644, content: []byte(texts.String())},
		{name: "sbom.cdx.json", mode: 0o644, content: bill},
	}, err
}

// components returns what the programs link, as they say themselves, and the version of Go.
func (r *release) components(ctx context.Context, built []programs) (parts []component, toolchain string, err error) {
	modules := map[string]*debug.Module{}
	for _, p := range built {
		for _, program := range []string{p.verifyd, p.verifyctl} {
			info, err := buildinfo.ReadFile(program)
			if err != nil {
				return nil, "", err
			}
			toolchain = info.GoVersion
			for _, m := range info.Deps {
				if m.Replace != nil {
					m = m.Replace
				}
				modules[m.Path] = m
			}
		}
	}
	goroot, err := r.goCommand(ctx, "env", "GOROOT")
	if err != nil {
		return nil, "", err
	}
	parts = append(parts,
		component{name: "Go standard library", version: toolchain, folder: strings.TrimSpace(goroot)},
		component{name: "Noto fonts", folder: filepath.Join(r.source, "internal/typeset/fonts")})
	if modules["github.com/klippa-app/go-pdfium"] != nil { // has it as WebAssembly, without its licence
		parts = append(parts, component{name: "PDFium", folder: filepath.Join(r.source, "hosts/release/pdfium")})
	}
	folders := map[string]string{}
	if len(modules) > 0 {
		paths := slices.Sorted(maps.Keys(modules))
		said, err := r.goCommand(ctx, append([]string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}, paths...)...)
		if err != nil {
			return nil, "", err
		}
		for line := range strings.Lines(said) {
			path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
			folders[path] = folder
		}
	}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		parts = append(parts, component{name: path, version: m.Version, sum: m.Sum, folder: folders[path]})
	}
	return parts, toolchain, nil
}

func (r *release) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = r.source, r.stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// readLicences reads the files with licences in the folder of a component. It fails unless one
// of them is an accepted licence, and none is another one.
func (c *component) readLicences() error {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.folder, e.Name()))
		if err != nil {
			return err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if m.IsURL {
				continue
			}
			if !accepted.MatchString(m.ID) {
				return fmt.Errorf("%s: %s has the licence %s, which is not accepted", c.name, e.Name(), m.ID)
			}
			if !slices.Contains(c.licences, m.ID) {
				c.licences = append(c.licences, m.ID)
			}
		}
		c.texts += "\n" + strings.TrimSpace(string(text)) + "\n"
	}
	if len(c.licences) == 0 {
		return fmt.Errorf("%s: no licence was found in %s", c.name, c.folder)
	}
	return nil
}

// bill returns the bill of materials, as CycloneDX in JSON.
func (r *release) bill(parts []component, toolchain string) ([]byte, error) {
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "" // which would be random
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.date.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "verifyd", Type: cyclonedx.ComponentTypeApplication, Name: "verifyd", Version: r.version,
			PackageURL: "pkg:golang/github.com/verifyd/verifyd@v" + r.version,
			Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
		Properties: &[]cyclonedx.Property{{Name: "commit", Value: r.commit}, {Name: "go", Value: toolchain}},
	}
	var all []cyclonedx.Component
	for _, p := range parts {
		c := cyclonedx.Component{BOMRef: p.name, Type: cyclonedx.ComponentTypeLibrary, Name: p.name, Version: p.version, Licenses: &cyclonedx.Licenses{}}
		if p.sum != "" {
			c.PackageURL = "pkg:golang/" + p.name + "@" + p.version
			c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: p.sum}}
		}
		for _, id := range p.licences {
			*c.Licenses = append(*c.Licenses, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
		}
		all = append(all, c)
	}
	bom.Components = &all
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, err
	}
	if !json.Valid(out.Bytes()) {
		return nil, errors.New("the bill of materials is no JSON")
	}
	return out.Bytes(), nil
}
