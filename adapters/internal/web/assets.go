// Assets: style sheets, scripts and icons, and their paths.

package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed assets/*
var shared embed.FS

// Assets serves the shared assets and those of one package. The paths contain a hash
// of all contents, so that browsers may cache them for ever.
type Assets struct {
	version string
	files   map[string]fs.FS // by name
}

// NewAssets returns the shared assets together with the files in the folder "assets" of
// each of others. It fails if two files have the same name.
func NewAssets(others ...fs.FS) (*Assets, error) {
	a := &Assets{files: map[string]fs.FS{}}
	sum := sha256.New()
	for _, from := range append([]fs.FS{shared}, others...) {
		entries, err := fs.ReadDir(from, "assets")
		if err != nil {
			return nil, err
		}
		for _, entry := range entries { // sorted by name
			name := entry.Name()
			if a.files[name] != nil {
				return nil, fmt.Errorf("two assets have the name %s", name)
			}
			raw, err := fs.ReadFile(from, "assets/"+name)
			if err != nil {
				return nil, err
			}
			a.files[name] = from
			_, _ = fmt.Fprintf(sum, "%s %d ", name, len(raw)) // a hash never fails
			_, _ = sum.Write(raw)
		}
	}
	a.version = hex.EncodeToString(sum.Sum(nil))[:12]
	return a, nil
}

// Path returns the path of an asset, relative to where the assets are mounted.
func (a *Assets) Path(name string) string { return a.version + "/" + name }

// BrandPath returns the path of the style sheet of a tenant's colour, or "" if the
// colour is not six hexadecimal digits, with or without a #.
func (a *Assets) BrandPath(colour string) string {
	c, ok := parseColour(colour)
	if !ok {
		return ""
	}
	return a.Path("brand-" + strings.TrimPrefix(c.Hex(), "#") + ".css")
}

// Serve writes the asset with a path that Path or BrandPath returned, and 404 for any
// other path.
func (a *Assets) Serve(w http.ResponseWriter, r *http.Request, path string) {
	version, name, _ := strings.Cut(path, "/")
	if version != a.version {
		http.NotFound(w, r)
		return
	}
	if from := a.files[name]; from != nil {
		CacheForever(w.Header())
		http.ServeFileFS(w, r, from, "assets/"+name)
		return
	}
	colour, isBrand := strings.CutPrefix(strings.TrimSuffix(name, ".css"), "brand-")
	c, ok := parseColour(colour)
	if !isBrand || !ok || !strings.HasSuffix(name, ".css") {
		http.NotFound(w, r)
		return
	}
	CacheForever(w.Header())
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, brandSheet(c)) // the reader may have gone away
}

// CacheForever marks a response whose content never changes under its path.
func CacheForever(h http.Header) { h.Set("Cache-Control", "public, max-age=31536000, immutable") }
