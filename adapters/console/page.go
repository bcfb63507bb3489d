// The pages: how they are rendered, and what the next page says after a post.

package console

import (
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
)

// pages are the templates of the pages by name. Each defines "body", and may use the
// templates in page/shared and the components of package web.
type pages map[string]*template.Template

func readPages() (pages, error) {
	names, err := fs.Glob(files, "page/*.html")
	if err != nil {
		return nil, err
	}
	all := pages{}
	for _, name := range names {
		t, err := web.Templates(files, nil, "page/shared/*.html", name)
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return all, nil
}

// page is the data of a template.
type page struct {
	session

	Title    string
	Page     string // the name of the template
	Sections []section
	Flash    *web.Note // what the last post did
	Content  any       // of the page

	assets *web.Assets
}

// Asset returns the URL of a style sheet, script or icon.
func (p page) Asset(name string) string { return p.Base + "/assets/" + p.assets.Path(name) }

// render writes a page. The title is the key of a message.
func (c *console) render(w http.ResponseWriter, s session, status int, name, title string, content any) error {
	text, err := s.T(title)
	if err != nil {
		return err
	}
	return c.renderTitled(w, s, status, name, text, content)
}

// renderTitled writes a page whose title is a text, such as the reference of a run.
func (c *console) renderTitled(w http.ResponseWriter, s session, status int, name, title string, content any) error {
	p := page{session: s, Title: title, Page: name, Content: content, assets: c.assets}
	if s.SignedIn() {
		p.Sections = c.sections
		p.Flash = c.takeFlash(w, s)
	}
	return web.Write(w, status, s.Catalog, "Accept-Language, Cookie", c.pages[name], "layout", p)
}

// redirect sends the browser to a URL with a GET.
func (c *console) redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// done sends the browser to a path below the console after a post. The next page shows
// the message of a key with its arguments.
func (c *console) done(w http.ResponseWriter, to, key string, args ...string) error {
	raw, err := json.Marshal(append([]string{key}, args...))
	if err != nil {
		return err
	}
	if value := base64.RawURLEncoding.EncodeToString(raw); len(value) <= maxFlash {
		c.setCookie(w, flashCookie, value)
	}
	return c.redirect(w, c.base+to)
}

const maxFlash = 2000 // bytes of the cookie

// takeFlash returns the message that done left, and removes it.
func (c *console) takeFlash(w http.ResponseWriter, s session) *web.Note {
	if s.flash == "" {
		return nil
	}
	c.setCookie(w, flashCookie, "")
	var parts []string
	raw, err := base64.RawURLEncoding.DecodeString(s.flash)
	if err != nil || json.Unmarshal(raw, &parts) != nil || len(parts) == 0 || !strings.HasPrefix(parts[0], "done.") {
		return nil
	}
	args := make([]any, 0, len(parts))
	for _, arg := range parts[1:] {
		args = append(args, arg)
	}
	text, err := s.T(parts[0], args...)
	if err != nil || strings.Count(s.Message(parts[0]), "%s") != len(args) {
		return nil
	}
	return &web.Note{Tone: web.Good, Text: text}
}

// serveAsset writes a style sheet, a script or an icon.
func (c *console) serveAsset(w http.ResponseWriter, r *http.Request, _ session) error {
	c.assets.Serve(w, r, strings.TrimPrefix(pathOf(r), "/assets/"))
	return nil
}

// Initial returns the first letter of the tenant's name.
func (p page) Initial() (string, error) {
	name, err := p.TenantName, error(nil)
	if name == "" {
		name, err = p.T("brand")
	}
	for _, r := range name {
		return strings.ToUpper(string(r)), err
	}
	return "", err
}

// In reports whether the page belongs to a section: it has the path of the section, or
// one below it.
func (p page) In(s section) bool { return p.path == s.Path || strings.HasPrefix(p.path, s.Path+"/") }
