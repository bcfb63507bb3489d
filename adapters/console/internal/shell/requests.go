// What a request says: its path, its notes, whether it is of a script.

package shell

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// PathOf returns the path of a request below the path of the console.
func PathOf(r *http.Request) string {
	if rc := chi.RouteContext(r.Context()); rc != nil && rc.RoutePath != "" {
		return rc.RoutePath
	}
	return r.URL.EscapedPath()
}

// WantsPage reports whether the response is for a person, not for a script.
func WantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") || r.Header.Get("Accept") == ""
}

// NotesField is the name of the field with the text that a person types.
const NotesField = "notes"

// NotesOf returns the notes of a form, with the line breaks that a person typed.
func NotesOf(r *http.Request) string {
	return strings.ReplaceAll(r.PostForm.Get(NotesField), "\r\n", "\n")
}

// ReceiverOf returns a URL without its query, which may hold a secret.
func ReceiverOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}
