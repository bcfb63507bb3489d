// Out and back: the page that leads to a vendor, and the customer's return.

package journey

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// maxReturn is the size of the body of a return, in bytes.
const maxReturn = 64 << 10

// awayCookie begins the name of the cookie of a browser whose customer was led away; the id of the run follows. The value is
// the link, as relative to the page: the token, and the language if it was chosen.
const awayCookie = "away-"

// awayFor is how long the browser of a customer is known, from the last time that it shows the page.
const awayFor = 24 * time.Hour

// remember has the browser know its link, so that a return leads this browser, and no other one, to it.
func remember(w http.ResponseWriter, v visitor, j engine.Journey) {
	if j.Run.Action == nil {
		return
	}
	link, err := url.Parse(j.Run.Action.URL)
	if err != nil {
		return // the return leads to the page of a browser that is not known
	}
	http.SetCookie(w, &http.Cookie{
		Name: awayCookie + string(j.Run.ID), Value: v.token + v.Query(), Path: path.Dir(link.Path) + "/back/",
		MaxAge: int(awayFor / time.Second), Secure: link.Scheme == "https", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// recall takes the link of a visitor from the value of the cookie.
func (v *visitor) recall(value string) bool {
	token, query, _ := strings.Cut(value, "?")
	q, err := url.ParseQuery(query)
	if err != nil || len(token) > maxToken {
		return false
	}
	v.token, v.chosen = token, ""
	if lang := q.Get("lang"); slices.Contains(web.Languages(), lang) {
		v.chosen = lang
	}
	return true
}

// back takes what a customer brings back from a vendor. The token in the path is the only credential, because the vendor's
// site causes the request: so it opens nothing, and the browser goes on as in comeBack.
func (s *site) back(w http.ResponseWriter, r *http.Request) {
	v, state := s.visitor(w, r), chi.URLParam(r, "state")
	if len(state) > maxToken {
		s.refuse(w, v, errNotFound)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxReturn)
	if err := r.ParseForm(); err != nil {
		r.Form = nil // the vendor's mistake: the customer goes on
	}
	parameters := make(map[string]string, len(r.Form))
	for name := range r.Form {
		parameters[name] = r.Form.Get(name)
	}
	id, err := s.engine.ReceiveReturn(r.Context(), state, parameters)
	logRun(w, id)
	if err != nil {
		s.refuse(w, v, err)
		return
	}
	// A post of another site has no cookie of ours, and the address bar should not keep the parameters.
	to := "./" + url.PathEscape(state) + "/done"
	if r.Method == http.MethodPost {
		to += "?" + markSent
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// comeBack redirects the browser that showed the page of the step to its link. Another browser, such as one that a bank's app opens,
// shows a page that says where to go on: the vendor has the return URL, too, and must not see the journey.
func (s *site) comeBack(w http.ResponseWriter, r *http.Request) {
	v, state := s.visitor(w, r), chi.URLParam(r, "state")
	if len(state) > maxToken {
		s.refuse(w, v, errNotFound)
		return
	}
	id, tenant, err := s.engine.OpenReturn(r.Context(), state)
	logRun(w, id)
	if err != nil {
		s.refuse(w, v, err)
		return
	}
	if c, err := r.Cookie(awayCookie + string(id)); err == nil && v.recall(c.Value) {
		if j, _ := s.engine.ReadJourney(r.Context(), v.token); j.Run.ID == id { // also if it cannot be read now
			mark := ""
			if r.URL.Query().Has(markSent) {
				mark = markSent
			}
			w.Header().Set("Location", v.base+v.with(mark))
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	v.tenant = tenant
	v.tenant.Logo = verification.Logo{} // its path needs the link
	s.write(w, http.StatusOK, "notice", page{visitor: v, Title: "away.done.title", Text: "away.done.text", Icon: "tick", Tone: web.Good})
}

// awayView leads the customer to a vendor.
type awayView struct {
	engine.JourneyAway

	State string // see stateOf
}

// awayPage returns the page of a step that leads the customer away.
func awayPage(v visitor, j engine.Journey) page {
	p := stepPage(v, j, emptyForm())
	p.Step.Away = &awayView{*j.Step.Away, stateOf(j)}
	if j.Step.Away.Returned {
		p.Refresh = 5
	}
	return p
}
