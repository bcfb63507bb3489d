// Package shell is what the pages of the console have in common: the session of the person
// and its messages, the frame around each page, cookies, lists, badges and graphs. It has no page
// of its own.
package shell

import (
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification/engine"
)

//go:embed page/shared/*.html
var files embed.FS

// Config is what a Shell needs.
type Config struct {
	Engine   *engine.Engine
	Catalogs web.Catalogs
	Assets   *web.Assets
	Base     string // the path of the console
	Secure   bool   // browsers reach it with https
	Log      *slog.Logger
}

// Shell renders pages.
type Shell struct {
	Config

	shared *template.Template
	// pages are the templates of the pages by name. Each defines "body", and may use the
	// templates in page/shared and the components of package web.
	pages map[string]*template.Template
}

// New returns a Shell with the pages of a program. See AddPages.
func New(c Config, of fs.FS) (*Shell, error) {
	shared, err := web.Templates(files, nil, "page/shared/*.html")
	if err != nil {
		return nil, err
	}
	sh := &Shell{Config: c, shared: shared, pages: map[string]*template.Template{}}
	return sh, sh.AddPages(of)
}

// AddPages adds the pages page/NAME.html of a capability. They may use the templates in its page/shared.
func (sh *Shell) AddPages(of fs.FS) error {
	shared, err := fs.Glob(of, "page/shared/*.html")
	if err != nil {
		return err
	}
	names, err := fs.Glob(of, "page/*.html")
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := sh.shared.Clone()
		if err != nil {
			return err
		}
		if t, err = t.ParseFS(of, append(shared, name)...); err != nil {
			return err
		}
		sh.pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return nil
}
