// The pages: how they are rendered, and what the next page says after a post.

package shell

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
)

// page is the data of a template.
type page struct {
	Session

	Title    string
	Page     string // the name of the template
	Sections []section
	Flash    *web.Note // what the last post did
	Content  any       // of the page

	assets *web.Assets
}

// Asset returns the URL of a style sheet, script or icon.
func (p page) Asset(name string) string { return p.Base + "/assets/" + p.assets.Path(name) }

// Render writes a page of AddPages. The title is the key of a message.
func (sh *Shell) Render(w http.ResponseWriter, s Session, status int, name, title string, content any) error {
	text, err := s.T(title)
	if err != nil {
		return err
	}
	return sh.RenderTitled(w, s, status, name, text, content)
}

// RenderTitled writes a page whose title is a text, such as the reference of a run.
func (sh *Shell) RenderTitled(w http.ResponseWriter, s Session, status int, name, title string, content any) error {
	p := page{Session: s, Title: title, Page: name, Content: content, assets: sh.Assets}
	if s.SignedIn() {
		p.Sections = sections(s)
		p.Flash = sh.takeFlash(w, s)
	}
	return web.Write(w, status, s.Catalog, "Accept-Language, Cookie", sh.pages[name], "layout", p)
}

// Redirect sends the browser to a URL with a GET.
func Redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Done sends the browser to a path below the console after a post. The next page shows
// the message of a key with its arguments.
func (sh *Shell) Done(w http.ResponseWriter, to, key string, args ...string) error {
	raw, err := json.Marshal(append([]string{key}, args...))
	if err != nil {
		return err
	}
	if value := base64.RawURLEncoding.EncodeToString(raw); len(value) <= maxFlash {
		sh.SetCookie(w, FlashCookie, value)
	}
	return Redirect(w, sh.Base+to)
}

const maxFlash = 2000 // bytes of the cookie

// takeFlash returns the message that Done left, and removes it.
func (sh *Shell) takeFlash(w http.ResponseWriter, s Session) *web.Note {
	if s.flash == "" {
		return nil
	}
	sh.SetCookie(w, FlashCookie, "")
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
func (p page) In(s section) bool { return p.Path == s.Path || strings.HasPrefix(p.Path, s.Path+"/") }

// section is an entry of the navigation.
type section struct {
	Name string // of the message section.Name, and of the icon
	Path string
	Icon string
}

// sections returns the entries of the navigation of a person, in their order.
func sections(s Session) []section {
	all := []section{
		{"queue", "/queue", "inbox"},
		{"runs", "/runs", "document"},
		{"workflows", "/workflows", "branch"},
		{"numbers", "/numbers", "chart"},
		{"deliveries", "/deliveries", "send"},
	}
	if s.Role.Audits() {
		all = append(all, section{"audit", "/audit", "shield"})
	}
	return all
}
