// Out and back: the page that leads to a vendor, and the customer's return.

package journey

import (
	"fmt"
	"hash/fnv"
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

// awayCookies is the number of runs whose customers one browser can bring back: a later run takes the place of one before, so that a
// tablet that many customers use does not send a header without a bound.
const awayCookies = 10

// awayCookie returns the name of the cookie of a browser whose customer was led away. The value is the link, as relative to the
// page: the token, and the language if it was chosen.
func awayCookie(id verification.RunID) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return fmt.Sprintf("away-%d", h.Sum32()%awayCookies)
}

// awayFor is how long the browser of a customer is known, from the last time that it shows the page.
const awayFor = 24 * time.Hour

// awayOver is how long it is known after the step is over: for the back button.
const awayOver = 10 * time.Minute

// remember has the browser know its link, so that a return leads this browser, and no other one, to it.
func remember(w http.ResponseWriter, v visitor, j engine.Journey) {
	if j.Run.Action == nil {
		return
	}
	link, err := url.Parse(j.Run.Action.URL)
	if err != nil {
		return // the return leads to the page of a browser that is not known
	}
	at := path.Dir(link.Path) + "/back/"
	q := url.Values{"at": {at}}
	if v.chosen != "" {
		q.Set("lang", v.chosen)
	}
	if link.Scheme == "https" {
		q.Set("https", "")
	}
	setLink(w, j.Run.ID, v.token+"?"+q.Encode(), q, awayFor)
}

// setLink has the browser know the link of a run. The query of the value says where the cookie holds.
func setLink(w http.ResponseWriter, id verification.RunID, value string, q url.Values, keep time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: awayCookie(id), Value: value, Path: q.Get("at"), MaxAge: int(keep / time.Second),
		Secure: q.Has("https"), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// recall takes the link of a visitor from the value of the cookie, and returns the query of the value.
func (v *visitor) recall(value string) (q url.Values, ok bool) {
	token, query, _ := strings.Cut(value, "?")
	q, err := url.ParseQuery(query)
	if err != nil || len(token) > maxToken {
		return nil, false
	}
	v.token, v.chosen = token, ""
	if lang := q.Get("lang"); slices.Contains(web.Languages(), lang) {
		v.chosen = lang
	}
	return q, true
}

// back takes what a customer brings back from a vendor. The token in the path is the only credential, because the vendor's
// site causes the request: so it opens nothing, and the browser goes on as in comeBack.
func (s *site) back(w http.ResponseWriter, r *http.Request) {
	v, state := s.visitor(w, r), web.LinkToken(r, chi.URLParam(r, "state"))
	if len(state) > maxToken {
		s.refuse(w, v, errNotFound)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxReturn)
	unread := r.ParseForm() // the vendor's mistake: the customer goes on with what could be read
	parameters := make(map[string]string, len(r.Form))
	for name := range r.Form {
		parameters[name] = r.Form.Get(name)
	}
	id, err := s.engine.ReceiveReturn(r.Context(), state, parameters)
	logRun(w, id)
	if unread != nil && id != "" {
		v.log.Warn("a part of a return cannot be read", "run", id, "read", len(parameters)) // the error quotes the part
	}
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
	v, state := s.visitor(w, r), web.LinkToken(r, chi.URLParam(r, "state"))
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
	value := ""
	if c, err := r.Cookie(awayCookie(id)); err == nil {
		value = c.Value
	}
	if q, ok := v.recall(value); ok && value != "" {
		if j, err := s.engine.ReadJourney(r.Context(), v.token); j.Run.ID == id { // also if it cannot be read now
			if err == nil && (j.Step == nil || j.Step.Away == nil) {
				setLink(w, id, value, q, awayOver)
			}
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
