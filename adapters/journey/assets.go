// The style sheet, the script and the icon of the pages.

package journey

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"

	"github.com/go-chi/chi/v5"
)

//go:embed assets/*
var assetFiles embed.FS

// versionOfAssets returns a hash of all assets. It is a part of their paths, so
// that browsers may cache them for ever.
func versionOfAssets() (string, error) {
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, entry := range entries { // sorted by name
		raw, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(raw) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	if chi.URLParam(r, "version") != s.assets {
		http.NotFound(w, r)
		return
	}
	cacheForever(w.Header()) // ServeFileFS removes it for an error
	http.ServeFileFS(w, r, assetFiles, "assets/"+chi.URLParam(r, "name"))
}

// cacheForever is for content that never changes under its path.
func cacheForever(h http.Header) { h.Set("Cache-Control", "public, max-age=31536000, immutable") }
