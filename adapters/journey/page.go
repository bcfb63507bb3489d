// How a page is filled in and written.

package journey

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/verification/engine"
)

//go:embed page/*.html
var pageFiles embed.FS

// pages are the templates by the kind of page.
type pages map[string]*template.Template

func readPages() (pages, error) {
	p := pages{}
	for _, kind := range []string{"step", "wait", "end", "notice"} {
		t, err := template.New("layout.html").Funcs(template.FuncMap{"pair": pair}).ParseFS(pageFiles, "page/layout.html", "page/icon.html", "page/field.html", "page/"+kind+".html")
		if err != nil {
			return nil, err
		}
		p[kind] = t
	}
	return p, nil
}

// visitor is who reads the page, and from where.
type visitor struct {
	words
	token  string
	chosen string // the language that was chosen on the page; may be empty
	base   string // leads from the page to where the handler is mounted
	others []words
	assets assets
}

func (s *site) visitor(r *http.Request) visitor {
	v := visitor{token: chi.URLParam(r, "token"), assets: s.assets}
	chosen := r.URL.Query().Get("lang")
	v.words = s.words.choose(chosen, r.Header)
	if chosen == v.tag.String() {
		v.chosen = chosen
	}
	for _, w := range s.words.list {
		if w.tag != v.tag {
			v.others = append(v.others, w)
		}
	}
	path := r.URL.Path
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePath != "" {
		path = c.RoutePath
	}
	v.base = "./" + strings.Repeat("../", max(strings.Count(path, "/")-1, 0))
	return v
}

// query keeps the chosen language on the way.
func (v visitor) query() string {
	if v.chosen == "" {
		return ""
	}
	return "?lang=" + v.chosen
}

// again is the way back to the page itself, relative to it.
func (v visitor) again() string { return "./" + url.PathEscape(v.token) + v.query() }

// page is what a template fills in. Its methods are for templates.
type page struct {
	visitor visitor
	colour  string // of the tenant; empty for ours

	Tenant string // empty where no run is known
	Title  string // a key, or the workflow's own words when Own is set
	Own    bool
	Text   string // a key; may be empty
	Icon   string // of a page without a form: tick, stop or clock; may be empty
	Note   string // a key of a friendly line above; may be empty
	Now    int    // the step that is shown, from 1; 0 for none
	Total  int
	// Refresh is after how many seconds a browser without JavaScript loads
	// the page again, or goes to Redirect; 0 for never.
	Refresh   int
	Redirect  string // where the page sends the customer; may be empty
	Closing   string // the key of the last line of an end; may be empty
	Reference string // the client's name for the run; may be empty
	State     string // of a page that waits
	Live      bool   // the run goes on, so the link is still good for something
	Again     bool   // offers to try again
	Step      *stepView
}

func newPage(v visitor, j engine.Journey) page {
	return page{visitor: v, Tenant: j.Tenant.Name, colour: j.Tenant.Colour, Live: !j.Run.Status.Terminal()}
}

// T is a text of the catalogue.
func (p page) T(key string, args ...any) (string, error) { return p.visitor.text(key, args...) }

// Lang is the language of the page.
func (p page) Lang() string { return p.visitor.tag.String() }

// Dir is the direction of its script.
func (p page) Dir() string { return p.visitor.direction() }

// Asset is the address of a style sheet, script or icon.
func (p page) Asset(name string) string { return p.visitor.base + p.visitor.assets.path(name) }

// Query keeps the chosen language.
func (p page) Query() string { return p.visitor.query() }

// Self is the address of this page without what was said on the way to it.
func (p page) Self() string { return p.visitor.again() }

// Brand is the tenant's name, or ours where no tenant is known.
func (p page) Brand() (string, error) {
	if p.Tenant != "" {
		return p.Tenant, nil
	}
	return p.T("brand")
}

// Initial is the first letter of the brand.
func (p page) Initial() (string, error) {
	brand, err := p.Brand()
	for _, r := range brand {
		return strings.ToUpper(string(r)), err
	}
	return "", err
}

// Heading is the title in the customer's language, or in the workflow's.
func (p page) Heading() (string, error) {
	if p.Own {
		return p.Title, nil
	}
	return p.T(p.Title)
}

// Failed tells whether the page has faults to show.
func (p page) Failed() bool { return p.Step != nil && p.Step.Failed }

// Way is one mark for each step: true for those that are done.
func (p page) Way() []string {
	marks := make([]string, p.Total)
	for i := range marks {
		switch {
		case i+1 < p.Now:
			marks[i] = "done"
		case i+1 == p.Now:
			marks[i] = "now"
		default:
			marks[i] = "ahead"
		}
	}
	return marks
}

// language that the page can be read in.
type otherLanguage struct{ Lang, Name, Link string }

// Others are the other languages of the page.
func (p page) Others() []otherLanguage {
	var others []otherLanguage
	for _, w := range p.visitor.others {
		tag := w.tag.String()
		others = append(others, otherLanguage{Lang: tag, Name: w.texts["language"], Link: "?lang=" + tag})
	}
	return others
}

// Host is where the customer is sent, as people read it.
func (p page) Host() string {
	u, err := url.Parse(p.Redirect)
	if err != nil {
		return ""
	}
	return u.Host
}

// write renders a page and sends it whole or not at all.
func (s *site) write(w http.ResponseWriter, status int, kind string, p page) {
	var b bytes.Buffer
	if err := s.pages[kind].Execute(&b, p); err != nil {
		s.log.Error("page not written", "page", kind, "error", err)
		http.Error(w, "Something went wrong. Please try again in a minute.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", p.Lang())
	h.Add("Vary", "Accept-Language")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the customer may have gone away
}
