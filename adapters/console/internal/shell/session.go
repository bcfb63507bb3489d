// Sessions: who makes a request, in which language and time zone.

package shell

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
)

// Session is the person of a request. The templates call its methods.
type Session struct {
	// Reviewer is the zero value for a visitor who has not signed in.
	verification.Reviewer
	web.Catalog // the language

	TenantName string
	Expires    time.Time // the end of the session
	Zone       *time.Location
	Languages  []web.LanguageLink // the other ones
	Base       string             // the path of the console
	Path       string             // of the request, below Base
	Log        *slog.Logger       // with the id of the request
	// Describe describes the providers of the tenant; nil for a visitor.
	Describe func(provider string) verification.ProviderDescription

	flash string // the cookie of Done
}

// SignedIn reports whether the person has signed in.
func (s Session) SignedIn() bool { return s.Tenant != "" }

// Key names the person among the people of all tenants. People with the same key are one
// person, as verification.Person.Is says.
func (s Session) Key() string {
	return string(s.Tenant) + " " + s.Person().Key()
}

// Actor returns the person as the audit trail names them.
func (s Session) Actor() verification.Actor {
	a := verification.ReviewerActor(s.Person())
	a.Role = s.Role
	return a
}

// May reports whether the person has at least this role.
func (s Session) May(role verification.Role) bool { return s.Role.Includes(role) }

// Instant is a time for the template "time".
type Instant struct{ Machine, Text string }

// At returns a time in the zone of the person, as in 2026-11-22 18:04.
func (s Session) At(t time.Time) Instant {
	return Instant{Machine: t.UTC().Format(time.RFC3339), Text: t.In(s.Zone).Format("2006-01-02 15:04")}
}

// AtSecond is At with seconds.
func (s Session) AtSecond(t time.Time) Instant {
	return Instant{Machine: t.UTC().Format(time.RFC3339), Text: t.In(s.Zone).Format(time.DateTime)}
}

// Visitor returns the session of a person who has not been identified. A language in
// the query is remembered.
func (sh *Shell) Visitor(w http.ResponseWriter, r *http.Request) Session {
	chosen := sh.Cookie(r, languageCookie)
	if asked := r.URL.Query().Get("lang"); asked != "" && asked != chosen {
		chosen = asked
		if known := sh.Catalogs.Choose(asked, nil); known.Lang() == asked {
			sh.SetCookie(w, languageCookie, asked)
		}
	}
	s := Session{
		Catalog: sh.Catalogs.Choose(chosen, r.Header), Zone: zoneOf(sh.Cookie(r, zoneCookie)), Base: sh.Base, Path: PathOf(r),
		Log: web.Log(w, sh.Log), flash: sh.Cookie(r, FlashCookie),
	}
	if r.Method != http.MethodPost { // a link would lose the page of a post
		s.Languages = sh.Catalogs.Links(s.Catalog, r.URL.Query())
	}
	return s
}

const maxZone = 64 // bytes of the name of a time zone

// zoneOf returns the time zone of a name, or UTC if there is none.
func zoneOf(name string) *time.Location {
	if len(name) > maxZone || name == "Local" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
