// The pages: their data, and how they are rendered.

package journey

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/markdown"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

//go:embed page/*.html
var pageFiles embed.FS

// pages are the templates: step, decline, wait, end and notice.
type pages map[string]*template.Template

func readPages() (pages, error) {
	p := pages{}
	for _, kind := range []string{"step", "away", "decline", "wait", "end", "notice"} {
		t, err := web.Templates(pageFiles, template.FuncMap{"words": markdown.New().HTML, "inPage": inPage}, "page/layout.html", "page/field.html", "page/"+kind+".html")
		if err != nil {
			return nil, err
		}
		p[kind] = t
	}
	return p, nil
}

// visitor is the reader of a page: the language, and where the page is.
type visitor struct {
	catalog
	log    *slog.Logger        // with the request id and, once the link is open, the run
	tenant verification.Tenant // zero where none is known
	token  string
	chosen string // the language that was chosen on the page; may be empty
	base   string // the relative path from the page to where the handler is mounted
	others []web.LanguageLink
	posted bool // the page answers a post
	assets *web.Assets
}

func (s *site) visitor(w http.ResponseWriter, r *http.Request) visitor {
	v := visitor{log: web.Log(w, s.log), token: web.LinkToken(r, chi.URLParam(r, "token")), assets: s.assets}
	chosen := r.URL.Query().Get("lang")
	v.catalog = catalog{s.catalogs.Choose(chosen, r.Header)}
	v.others, v.posted = s.catalogs.Links(v.Catalog, r.URL.Query()), r.Method == http.MethodPost
	if chosen == v.Lang() {
		v.chosen = chosen
	}
	path := r.URL.Path
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePath != "" {
		path = c.RoutePath
	}
	v.base = "./" + strings.Repeat("../", max(strings.Count(path, "/")-1, 0))
	return v
}

// Query returns the query that keeps the chosen language.
func (v visitor) Query() string {
	if v.chosen == "" {
		return ""
	}
	return "?lang=" + v.chosen
}

// Self returns the relative URL of the page, without the marks in its query.
func (v visitor) Self() string { return "./" + url.PathEscape(v.token) + v.Query() }

// Decline returns the relative URL of the page that confirms a declined consent.
func (v visitor) Decline() string { return v.with(markDecline) }

// with returns the relative URL of the page with a mark in its query.
func (v visitor) with(mark string) string {
	switch {
	case mark == "":
		return v.Self()
	case v.chosen == "":
		return v.Self() + "?" + mark
	}
	return v.Self() + "&" + mark
}

// Asset returns the URL of a style sheet, script or icon.
func (v visitor) Asset(name string) string { return v.base + "assets/" + v.assets.Path(name) }

// Others returns the links to the page in the other languages. A page that answers a post
// has none, because a link would lose the answers.
func (v visitor) Others() []web.LanguageLink {
	if v.posted {
		return nil
	}
	return v.others
}

// Switches returns the other languages of a form that was refused. Their buttons send the
// answers again, which are shown in the other language and not delivered.
func (p page) Switches() []web.LanguageLink {
	if !p.posted || p.Step == nil {
		return nil
	}
	return p.others
}

// Posted reports whether the page answers a post.
func (v visitor) Posted() bool { return v.posted }

// page is the data of a template. The templates call its methods.
type page struct {
	visitor

	Title       string // a key, or a text of the workflow if TitleIsText is set
	TitleIsText bool
	Text        string   // a key; may be empty
	Icon        string   // of a page without a form; may be empty
	Tone        web.Tone // of the icon
	Note        string   // the key of a line above the page; may be empty
	Current     int      // the step that is shown, from 1; 0 for none
	Total       int
	// Refresh is the number of seconds after which a browser without
	// JavaScript reloads the page or goes to Redirect; 0 means never.
	Refresh   int
	Redirect  string    // the URL that the customer is sent to; may be empty
	Words     string    // what the workflow says at this end; may be empty
	Rejected  string    // what the workflow says about a rejection; may be empty
	Closing   string    // the key of the last line of an end page; may be empty
	Reference string    // the client's name for the run; may be empty
	Due       time.Time // when a verdict is due; may be zero
	Late      bool      // Due has passed
	State     string    // of a page that follows the run; see stateOf
	Live      bool      // the run is not over
	Retry     bool      // offers to load the page again
	Stuck     bool      // the customer can only ask for help
	Step      *stepView
	Consents  []engine.JourneyConsent // that the customer has given
}

func newPage(v visitor, j engine.Journey) page {
	return page{visitor: v, Live: !j.Run.Status.Terminal(), Consents: consentsIn(v.Lang(), j.Consents)}
}

// consentsIn returns consents in a language, as far as they have texts in it.
func consentsIn(language string, given []engine.JourneyConsent) []engine.JourneyConsent {
	given = slices.Clone(given)
	for i, c := range given {
		given[i].Label, given[i].Text = c.LabelIn.In(language, c.Label), c.TextIn.In(language, c.Text)
	}
	return given
}

// Colour returns the URL of the style sheet of the tenant's colour, or "".
func (p page) Colour() string {
	path := p.assets.BrandPath(p.tenant.Colour)
	if path == "" {
		return ""
	}
	return p.base + "assets/" + path
}

// Logo returns the URL of the tenant's logo, or "".
func (p page) Logo() template.URL {
	if p.tenant.Logo.Name == "" {
		return ""
	}
	return template.URL(p.base + url.PathEscape(p.token) + "/logo/" + url.PathEscape(p.tenant.Logo.Name)) //nolint:gosec // G203: a path of ours
}

// link is a link of the tenant at the bottom of a page.
type link struct {
	Text string
	URL  template.URL
	Page bool // leads to a page, which opens in a new tab so that the form stays
}

// Links returns the links of the tenant.
func (p page) Links() []link {
	l := p.tenant.Links
	var all []link
	for _, one := range []struct{ key, url string }{{"link.privacy", l.Privacy}, {"link.help", l.Help}, {"link.legal", l.Legal}} {
		if one.url != "" && verification.ValidatePageURL(one.url) == nil {
			all = append(all, link{p.Message(one.key), template.URL(one.url), true}) //nolint:gosec // G203: an absolute http(s) URL
		}
	}
	if number, ok := verification.CleanPhone(l.Phone); ok {
		text := strings.ReplaceAll(p.Message("link.phone"), "#", number)
		all = append(all, link{text, template.URL("tel:" + strings.NewReplacer(" ", "", "(", "", ")", "").Replace(number)), false}) //nolint:gosec // G203: a phone number
	}
	return all
}

// contact is a way to reach the tenant, shown as a button.
type contact struct {
	link

	Icon string
}

// Contacts returns the ways to reach the tenant on a page without a way on: an expired or
// cancelled run, and a link that does not work. Other pages have none.
func (p page) Contacts() (ways []contact) {
	if !p.Stuck {
		return nil
	}
	for _, l := range p.Links() {
		switch {
		case !l.Page:
			ways = append(ways, contact{l, "phone"})
		case string(l.URL) == p.tenant.Links.Help:
			ways = append(ways, contact{l, "external"})
		}
	}
	return ways
}

// Tenant returns the tenant's name, or "" if no tenant is known.
func (p page) Tenant() string { return p.tenant.Name }

// Brand returns the tenant's name, or ours if no tenant is known.
func (p page) Brand() (string, error) {
	if p.tenant.Name != "" {
		return p.tenant.Name, nil
	}
	return p.T("brand")
}

// Initial returns the first letter of the brand.
func (p page) Initial() (string, error) {
	brand, err := p.Brand()
	for _, r := range brand {
		return strings.ToUpper(string(r)), err
	}
	return "", err
}

// Heading returns the title in the language of the customer or the workflow.
func (p page) Heading() (string, error) {
	if p.TitleIsText {
		return p.Title, nil
	}
	return p.T(p.Title)
}

// Failed reports whether the page shows problems.
func (p page) Failed() bool { return p.Step != nil && p.Step.Failed }

// Summary lists the problems above the form.
func (p page) Summary() web.Summary {
	return web.Summary{Title: p.Message("error.summary"), Problems: p.Step.Problems}
}

// Progress returns a CSS class for each step: done, now or ahead.
func (p page) Progress() []string {
	return slices.Concat(slices.Repeat([]string{"done"}, p.Current-1), []string{"now"}, slices.Repeat([]string{"ahead"}, p.Total-p.Current))
}

// Host returns the host of Redirect.
func (p page) Host() string {
	u, err := url.Parse(p.Redirect)
	if err != nil {
		return ""
	}
	return u.Host
}

// waitPage is shown while the checks run or a reviewer is needed.
func waitPage(v visitor, j engine.Journey) page {
	p := newPage(v, j)
	p.Title, p.Text, p.State, p.Refresh = "wait.title", "wait.text", stateOf(j), 4
	if underReview(j) {
		p.Title, p.Text, p.Refresh = "review.title", "review.text", 60
		p.Icon, p.Reference, p.Due, p.Late = "clock", j.Run.ReferenceID, j.ReviewDue, j.ReviewLate
	}
	if j.Done < j.Total {
		p.Current, p.Total = j.Done+1, j.Total
	}
	return p
}

// endPage is shown when the run is over. It does not show the results of checks
// and reviews: that is up to the client, and to the text of the end node.
func endPage(v visitor, j engine.Journey) page {
	p := newPage(v, j)
	p.Icon, p.Closing = "stop", "end.close"
	switch {
	case j.Run.Status == rules.StatusExpired:
		p.Title, p.Text, p.Closing, p.Icon = "expired.title", "expired.text", "", "hourglass"
		p.Stuck = true
	case j.Run.Status == rules.StatusCancelled:
		p.Title, p.Icon, p.Stuck = "cancelled.title", "cross", true
	case j.Declined && j.Checked:
		p.Title = "declined.title"
	case j.Declined:
		p.Title, p.Text = "declined.title", "declined.text"
	default:
		p.Title, p.Icon, p.Tone = "done.title", "tick", web.Good
	}
	if j.Run.RedactedAt.IsZero() && j.Run.RestrictedAt.IsZero() {
		p.Reference = j.Run.ReferenceID
	}
	p.Words = j.EndTextIn.In(v.Lang(), j.EndText)
	if p.Rejected = j.RejectTextIn.In(v.Lang(), j.RejectText); p.Rejected != "" { // it may say what to do
		p.Closing = "end.close.rejected"
		if p.Title == "done.title" {
			p.Title = "done.title.rejected"
		}
	}
	if p.Words != "" || p.Rejected != "" {
		p.Tone = web.Neutral // the text may say no
		if p.Icon == "tick" {
			p.Icon = "info"
		}
	}
	if p.Redirect = j.Redirect; p.Redirect != "" {
		p.Closing, p.Refresh = "end.leave", 3
	}
	return p
}

// declinePage asks the customer to confirm that the open consent is declined, and
// leads back to it.
func declinePage(v visitor, j engine.Journey) page {
	p := stepPage(v, j, emptyForm())
	p.Title, p.TitleIsText, p.Text, p.Icon = "decline.title", false, "decline.text", "stop"
	if j.Checked {
		p.Text = "decline.checked"
	}
	return p
}

// endStatus returns 200 for a run that has completed or failed, so that apps
// which embed the page do not take it for an error, and 410 for any other.
func endStatus(s rules.Status) int {
	if s == rules.StatusCompleted || s == rules.StatusFailed {
		return http.StatusOK
	}
	return http.StatusGone
}

// noticePage explains an error to the customer.
func noticePage(v visitor, status int) page {
	p := page{visitor: v, Retry: true, Tone: web.Warning}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		p.Title, p.Text, p.Icon, p.Tone, p.Retry = "notfound.title", "notfound.text", "broken-link", web.Neutral, false
		p.Stuck = true
	case http.StatusServiceUnavailable:
		p.Title, p.Text, p.Icon, p.Tone = "busy.title", "busy.text", "refresh", web.Neutral
	case http.StatusForbidden:
		p.Title, p.Text, p.Icon = "crosssite.title", "crosssite.text", "shield"
	case http.StatusRequestEntityTooLarge:
		p.Title, p.Text, p.Icon = "toolarge.title", "toolarge.text", "document"
	default:
		p.Title, p.Text, p.Icon = "internal.title", "internal.text", "warning"
	}
	return p
}

// write renders a page and sends it, or an error if it cannot be rendered.
func (s *site) write(w http.ResponseWriter, status int, kind string, p page) {
	if err := web.Write(w, status, p.Catalog, "Accept-Language", s.pages[kind], "layout.html", p); err != nil {
		p.log.Error("page not rendered", "page", kind, "error", err)
		http.Error(w, "Something went wrong. Please try again in a minute.", http.StatusInternalServerError)
	}
}
