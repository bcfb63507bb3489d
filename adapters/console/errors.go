// The pages of errors, and of a session that has ended.

package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
)

// errOtherPerson is returned for a form that another person filled in, in the same browser.
var errOtherPerson = verification.Conflict("form", "another person has filled it in")

// errorView is the data of the page "error".
type errorView struct {
	Text      string
	RequestID string    // of an internal error
	Kept      *keptForm // the form of a POST in which a person typed a text; else nil
	Again     bool      // the post may succeed if it is sent again
}

// refuse writes the page of an error.
func (c *console) refuse(w http.ResponseWriter, r *http.Request, s shell.Session, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody reads the page
	}
	status := web.StatusOf(err)
	if status == http.StatusUnauthorized {
		err = c.askToSignIn(w, r, s)
		if err == nil {
			return
		}
		status = http.StatusInternalServerError
	}
	view := errorView{}
	switch status {
	case http.StatusInternalServerError:
		s.Log.Error("console failed", "error", err)
		view.RequestID = w.Header().Get("X-Request-Id")
	case http.StatusServiceUnavailable:
		s.Log.Warn("console unavailable", "error", err)
		w.Header().Set("Retry-After", "1")
	}
	if !shell.WantsPage(r) {
		w.WriteHeader(status)
		return
	}
	key := "error." + strconv.Itoa(status)
	if errors.Is(err, errOtherPerson) {
		key = "error.person"
	}
	view.Text = s.Message(key + ".text")
	if !errors.Is(err, web.ErrCrossSite) { // the person did not fill in that form in the console
		view.Kept = c.keptForm(r)
		view.Again = status >= http.StatusInternalServerError
	}
	if errors.Is(err, errOtherPerson) && view.Kept != nil { // the text of the other person is not shown
		view.Again = true
		for i := range view.Kept.Fields {
			view.Kept.Fields[i].Shown = false
		}
	}
	if err := c.shell.Render(w, s, status, "error", key+".title", view); err != nil {
		s.Log.Error("console failed", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// personField is the name of the field with the session.Key of the person who filled in the
// form.
const personField = "person"

// keptView is the data of the page "kept": a form that was sent after the session had
// ended.
type keptView struct {
	SignIn string
	*keptForm
}

// keptForm is a form that was not carried out, to be sent again.
type keptForm struct {
	Action string
	Fields []keptField
}

// keptField is a value of the form.
type keptField struct {
	Name, Value string
	Shown       bool // as text that the person typed; else a hidden field
}

// askToSignIn answers a request without a session. What a form contained stays on the
// page, to be sent again after signing in in another tab.
func (c *console) askToSignIn(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	signIn := c.shell.Base + SignInPath
	switch {
	case !shell.WantsPage(r):
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	case r.Method != http.MethodPost:
		return shell.Redirect(w, signIn+"?"+url.Values{"next": {c.here(r)}}.Encode())
	}
	return c.shell.Render(w, s, http.StatusUnauthorized, "kept", "kept.title", keptView{signIn, c.formOf(r)})
}

// here returns the path and query of a request.
func (c *console) here(r *http.Request) string {
	here := c.shell.Base + shell.PathOf(r)
	if r.URL.RawQuery != "" {
		here += "?" + r.URL.RawQuery
	}
	return here
}

// formOf returns what a post contained.
func (c *console) formOf(r *http.Request) *keptForm {
	form := &keptForm{Action: c.here(r)}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		for _, value := range r.PostForm[name] {
			form.Fields = append(form.Fields, keptField{Name: name, Value: value, Shown: name == shell.NotesField})
		}
	}
	return form
}

// keptForm returns what a post contained if a person typed a text into it, else nil.
func (c *console) keptForm(r *http.Request) *keptForm {
	if r.PostForm.Get(shell.NotesField) == "" {
		return nil
	}
	return c.formOf(r)
}
