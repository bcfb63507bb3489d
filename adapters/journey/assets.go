// The style sheet, the script and the icon of the pages.

package journey

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

//go:embed assets/*
var assetFiles embed.FS

// assets are the files by name. Their path changes with their content, so that
// browsers may cache them for ever.
type assets struct {
	version string
	files   map[string][]byte
}

func readAssets() (assets, error) {
	a := assets{files: map[string][]byte{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return assets{}, err
	}
	sum := sha256.New()
	for _, entry := range entries { // sorted by name
		raw, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			return assets{}, err
		}
		a.files[entry.Name()] = raw
		_, _ = sum.Write(raw) // a hash never fails
	}
	a.version = hex.EncodeToString(sum.Sum(nil))[:12]
	return a, nil
}

// path returns the path of an asset, relative to where the handler is mounted.
func (a assets) path(name string) string { return "assets/" + a.version + "/" + name }

func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	raw, ok := s.assets.files[name]
	if !ok || chi.URLParam(r, "version") != s.assets.version {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	media := "text/plain"
	switch name[strings.LastIndex(name, ".")+1:] {
	case "css":
		media = "text/css; charset=utf-8"
	case "js":
		media = "text/javascript; charset=utf-8"
	case "svg":
		media = "image/svg+xml"
	}
	serveImmutable(w, media, raw)
}

// serveImmutable serves content that never changes under its path.
func serveImmutable(w http.ResponseWriter, media string, raw []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(raw) // the customer may have gone away
}
