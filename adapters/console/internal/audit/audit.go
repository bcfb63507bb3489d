// Package audit has the page of the audit trail: who read, searched for, decided and changed what.
package audit

import (
	"cmp"
	"crypto/rand"
	"embed"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

//go:embed page/*.html
var files embed.FS

// Pages has the handlers.
type Pages struct {
	shell *shell.Shell
	trail store.AuditStore
	now   func() time.Time
}

// New adds the page to a shell.
func New(sh *shell.Shell, trail store.AuditStore, now func() time.Time) (*Pages, error) {
	return &Pages{sh, trail, now}, sh.AddPages(files)
}

// view is the data of the page audit.
type view struct {
	Filter   filter
	Actions  []shell.Choice
	Problems *web.Summary
	Rows     []row
	Download string // the URL of the filtered list as NDJSON
	Pager    *web.Pager
	Empty    web.Empty
}

// filter is the form above the list as it was sent.
type filter struct {
	Who, Action, Run, From, Until string
	bad                           []string // the fields that cannot be read
}

// Bad reports whether a field cannot be read.
func (f filter) Bad(field string) bool { return slices.Contains(f.bad, field) }

// More reports whether anything but Who is filtered by.
func (f filter) More() bool { return f.Action+f.Run+f.From+f.Until != "" }

// Set reports whether anything is filtered by.
func (f filter) Set() bool { return f.Who != "" || f.More() }

// row is an entry of the trail.
type row struct {
	At          shell.Instant
	Who, Kind   string // Kind says in words who it was
	WhoURL      string // of the entries of the same actor
	What        string
	Details     []string
	Run, RunURL string // empty for an entry about no run
}

// readFilter reads a query. A field that cannot be read is in f.bad.
func readFilter(v url.Values, s shell.Session) (f filter, q store.AuditQuery) {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	f = filter{Who: get("who"), Action: get("action"), Run: get("run"), From: get("from"), Until: get("until")}
	q = store.AuditQuery{Actor: f.Who, Action: store.AuditAction(f.Action), Before: v.Get("before"), Limit: store.DefaultLimit}
	if f.Run != "" {
		var err error
		if q.Run, err = verification.ParseRunID(f.Run); err != nil {
			f.bad = append(f.bad, "run")
		}
	}
	day := func(name, text string) (begin time.Time) {
		if text == "" {
			return begin
		}
		begin, err := time.ParseInLocation(time.DateOnly, text, s.Zone)
		if err != nil {
			f.bad = append(f.bad, name)
		}
		return begin
	}
	q.From = day("from", f.From)
	if q.Until = day("until", f.Until); !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1)
	}
	return f, q
}

// Show lists the entries of the tenant that match a filter, the newest first.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, q := readFilter(r.URL.Query(), s)
	v := view{Filter: f, Actions: []shell.Choice{{Text: s.Say("audit.any"), Chosen: f.Action == ""}}}
	for _, one := range store.AuditActions() {
		action := string(one)
		v.Actions = append(v.Actions, shell.Choice{Value: action, Text: s.Say("audit.action." + action), Chosen: action == f.Action})
	}
	if len(f.bad) > 0 {
		v.Problems = &web.Summary{Title: s.Say("runs.problem")}
		for _, name := range f.bad {
			v.Problems.Problems = append(v.Problems.Problems, web.Problem{Target: name, Label: s.Say("audit." + name), Text: s.Say("audit.problem." + name)})
		}
		return p.shell.Render(w, s, http.StatusBadRequest, "audit", "section.audit", v)
	}
	q.Limit = store.DefaultLimit + 1 // whether there are older ones
	entries, err := p.trail.AuditEntries(r.Context(), s.Tenant, q)
	if err != nil {
		return err
	}
	next := ""
	if len(entries) == q.Limit {
		entries = entries[:store.DefaultLimit]
		next = entries[len(entries)-1].ID
	}
	for _, e := range entries {
		v.Rows = append(v.Rows, rowOf(s, e))
	}
	at := func(path, before string) string {
		query := r.URL.Query()
		for name, values := range query {
			if name == "lang" || name == "before" || values[0] == "" {
				query.Del(name)
			}
		}
		if before != "" {
			query.Set("before", before)
		}
		if len(query) == 0 {
			return s.Base + path
		}
		return s.Base + path + "?" + query.Encode()
	}
	v.Download = at("/audit.ndjson", "")
	if q.Before != "" || next != "" {
		v.Pager = &web.Pager{Label: s.Say("pager.label"), Previous: s.Say("audit.newest"), Next: s.Say("audit.older")}
		if q.Before != "" {
			v.Pager.PreviousURL = at("/audit", "")
		}
		if next != "" {
			v.Pager.NextURL = at("/audit", next)
		}
	}
	key := "audit.empty"
	if f.Set() {
		key = "audit.none"
	}
	v.Empty = web.Empty{Icon: "shield", Title: s.Say(key), Text: s.Say(key + ".text")}
	return p.shell.Render(w, s, http.StatusOK, "audit", "section.audit", v)
}

// rowOf returns the row of an entry.
func rowOf(s shell.Session, e store.AuditEntry) row {
	v := row{At: s.At(e.At), Who: e.Actor.Name, Kind: s.Say("audit.kind." + string(e.Actor.Kind)), What: s.Message("audit.action." + string(e.Action))}
	v.Who, v.What = cmp.Or(v.Who, e.Actor.ID, v.Kind), cmp.Or(v.What, string(e.Action))
	if v.Who == v.Kind {
		v.Kind = ""
	}
	if e.Actor.ID != "" {
		v.WhoURL = s.Base + "/audit?" + url.Values{"who": {e.Actor.ID}}.Encode()
	}
	if e.Run != "" {
		v.Run, v.RunURL = string(e.Run), s.Base+"/runs/"+string(e.Run)
	}
	if day, last := e.At.UTC().Format(time.DateOnly), e.Last().UTC().Format(time.DateOnly); e.Count > 0 && day == last {
		v.Details = append(v.Details, s.Count("audit.count", e.Count, day))
	} else if e.Count > 0 {
		v.Details = append(v.Details, s.Count("audit.last", e.Count, last))
	}
	for _, text := range []string{e.Document, e.Subject, e.Detail} {
		if text != "" {
			v.Details = append(v.Details, text)
		}
	}
	return v
}

// Export sends the entries that match a filter as NDJSON, the newest first.
func (p *Pages) Export(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, q := readFilter(r.URL.Query(), s)
	if len(f.bad) > 0 {
		return verification.InvalidField("audit", f.bad[0], "cannot be read")
	}
	if r.Method == http.MethodGet {
		at := p.now().UTC().Truncate(time.Microsecond)
		export := store.AuditEntry{
			Tenant: s.Tenant, ID: store.AuditID(at, rand.Text()), At: at, Actor: verification.ReviewerActor(s.Person()), Action: store.AuditExported,
		}
		if err := p.trail.AppendAudit(r.Context(), []store.AuditEntry{export}); err != nil {
			return err
		}
	}
	q.Before, q.Limit = "", store.MaxAuditLimit
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	if r.Method == http.MethodHead {
		return nil
	}
	out, begun := json.NewEncoder(w), false
	for {
		entries, err := p.trail.AuditEntries(r.Context(), s.Tenant, q)
		if err != nil {
			if begun {
				s.Log.Error("audit trail not sent", "error", err)
				panic(http.ErrAbortHandler) // the browser sees that the file ends early
			}
			w.Header().Del("Content-Disposition")
			return err
		}
		for _, e := range entries {
			if begun = true; out.Encode(e) != nil {
				return nil //nolint:nilerr // the reader has gone away
			}
		}
		if len(entries) < q.Limit {
			return nil
		}
		q.Before = entries[len(entries)-1].ID
	}
}
