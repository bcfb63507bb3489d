// Out and back: the page that leads to a vendor, and the customer's return.

package journey

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/verification/engine"
)

// maxReturn is the size of the body of a return, in bytes.
const maxReturn = 64 << 10

// back takes what a customer brings back from a vendor, and redirects the browser to the link. The token in the path is the only
// credential, because the vendor's site causes the request.
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
	token, id, err := s.engine.ReceiveReturn(r.Context(), state, parameters)
	if l, ok := w.(RunLogger); ok && id != "" {
		l.LogRun(id)
	}
	if err != nil {
		s.refuse(w, v, err)
		return
	}
	v.token = token
	mark := ""
	if r.Method == http.MethodPost {
		mark = markSent
	}
	w.Header().Set("Location", "."+v.with(mark)) // from back/STATE to the link
	w.WriteHeader(http.StatusSeeOther)
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
