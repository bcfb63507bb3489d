// The image: the programs, certificates and nothing else, for each architecture.

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image, which has no name.
const nobody = 65532

// dataDir is the only folder that the image writes to.
const dataDir = "/var/lib/verifyd"

// image writes the layout of the image as one .tar file.
func (r *release) image(work string, built []programs, notices []file) (err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range built {
		if p.target.os != "linux" {
			continue
		}
		image, err := r.imageOf(p, notices)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.target.arch}},
		})
	}
	folder := filepath.Join(work, "image")
	all, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := all.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(folder, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		files = append(files, file{name: filepath.ToSlash(rel), mode: 0o644, source: name})
		return err
	})
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, "verifyd_"+r.version+"_image.tar"))
	if err != nil {
		return err
	}
	return errors.Join(r.tar(out, files), out.Close())
}

// imageOf returns the image of one architecture. It has no shell, and no user with a name.
func (r *release) imageOf(p programs, notices []file) (v1.Image, error) {
	files := []file{
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/verifyd", mode: 0o755, source: p.verifyd},
		{name: "usr/bin/verifyctl", mode: 0o755, source: p.verifyctl},
		{name: "usr/share/doc/verifyd/", mode: 0o755},
		{name: "var/lib/verifyd/", mode: 0o700, owner: nobody},
	}
	for _, n := range notices {
		n.name = "usr/share/doc/verifyd/" + n.name
		files = append(files, n)
	}
	var content bytes.Buffer
	if err := r.tar(&content, files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "hosts/release"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", p.target.arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: dataDir, Entrypoint: []string{"/usr/bin/verifyd"}, Cmd: []string{"serve"}, StopSignal: "SIGTERM",
		Env: []string{
			"PATH=/usr/bin", "VERIFYD_DATA_DIR=" + dataDir, "VERIFYD_ADDR=0.0.0.0:8080", "VERIFYD_ADMIN_ADDR=0.0.0.0:8081",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
		Volumes:      map[string]struct{}{dataDir: {}},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/verifyd", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title": "verifyd", "org.opencontainers.image.description": "Identity and business verification as workflows",
			"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.created": r.date.Format(time.RFC3339), "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source": "https://github.com/verifyd/verifyd",
		},
	}
	return mutate.ConfigFile(image, config)
}

// certificates returns the authorities that Mozilla trusts without a condition.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}
