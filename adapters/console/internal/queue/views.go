// Views: filters of the queue that a person has named, in a cookie that lasts for a year.

package queue

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
)

// The limits of views.
const (
	maxViews    = 10
	maxViewName = 40   // characters
	maxViewsLen = 3500 // bytes of the cookie
	viewsLast   = 365 * 24 * time.Hour
)

// savedView is a filter of the queue with a name.
type savedView struct {
	Name  string `json:"n"`
	Query string `json:"q"` // of the URL of the queue
}

// views returns the views of the person.
func (p *Pages) views(r *http.Request, s shell.Session) []savedView {
	var all []savedView
	raw, err := base64.RawURLEncoding.DecodeString(p.shell.Cookie(r, viewsCookie(s)))
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	all = slices.DeleteFunc(all, func(v savedView) bool { return v.Name == "" || utf8.RuneCountInString(v.Name) > maxViewName })
	return all[:min(len(all), maxViews)]
}

// viewsCookie returns the name of the cookie: people who use one browser have their own views.
func viewsCookie(s shell.Session) string {
	return fmt.Sprintf("verifyd-views-%.4x", sha256.Sum256([]byte(s.Key())))
}

// SaveView names the filter of the form, or removes the view of that name.
func (p *Pages) SaveView(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	name := strings.Join(strings.Fields(r.PostForm.Get("name")), " ")
	query, err := url.ParseQuery(strings.TrimPrefix(r.PostForm.Get("query"), "?"))
	f := FilterOf(query).first()
	f.Back = ""
	at := "/queue" + f.Query()
	if err != nil || name == "" || utf8.RuneCountInString(name) > maxViewName || !utf8.ValidString(name) {
		return p.shell.Done(w, at, "done.view.name")
	}
	all := slices.DeleteFunc(p.views(r, s), func(v savedView) bool { return v.Name == name })
	message := "done.view.removed"
	if r.PostForm.Get("remove") == "" {
		all, message = append(all, savedView{Name: name, Query: f.Query()}), "done.view.saved"
	}
	raw, err := json.Marshal(all)
	value := base64.RawURLEncoding.EncodeToString(raw)
	if err != nil || len(all) > maxViews || len(value) > maxViewsLen {
		return p.shell.Done(w, at, "done.view.many")
	}
	p.shell.SetLastingCookie(w, viewsCookie(s), value, viewsLast)
	return p.shell.Done(w, at, message, shell.Isolate(name))
}

// viewTabs returns the views as parts of the queue, and the name of the one that is shown.
func (p *Pages) viewTabs(r *http.Request, s shell.Session, f Filter) (tabs []queueTab, current string) {
	f.Page, f.Back = 0, ""
	for _, v := range p.views(r, s) {
		query, _ := url.ParseQuery(strings.TrimPrefix(v.Query, "?")) // saveView has encoded it
		of := FilterOf(query)
		of.Page, of.Back = 0, ""
		if of == f {
			current = v.Name
		}
		tabs = append(tabs, queueTab{URL: s.Base + "/queue" + of.Query(), Text: v.Name, Current: of == f, Named: true})
	}
	return tabs, current
}
