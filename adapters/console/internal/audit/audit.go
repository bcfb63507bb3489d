// Package audit has the page of the audit trail: who read, searched for, decided and changed what.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
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
	trail store.Store
	now   func() time.Time
}

// New adds the page to a shell.
func New(sh *shell.Shell, trail store.Store, now func() time.Time) (*Pages, error) {
	return &Pages{sh, trail, now}, sh.AddPages(files)
}

// view is the data of the page audit.
type view struct {
	Filter   filter
	Tabs     []shell.Choice // decisions and changes, or reads as well; the values are URLs
	Actions  []shell.Choice
	Problems *web.Summary
	People   bool   // runs are also found by the words of a person
	Cut      string // that more runs match than are shown; empty if all are
	Rows     []row
	Download string // the URL of the filtered list as NDJSON
	Pager    *web.Pager
	Empty    web.Empty
}

// filter is the form above the list as it was sent.
type filter struct {
	Who, Action, From, Until string
	About                    string   // a reference or the id of a run
	Words                    string   // the keys of the words of a person, see shell.WordsField
	All                      bool     // reads as well
	bad                      []string // the fields that cannot be read
}

// Bad reports whether a field cannot be read.
func (f filter) Bad(field string) bool { return slices.Contains(f.bad, field) }

// More reports whether anything is filtered by that is not always in sight.
func (f filter) More() bool { return f.Who+f.From+f.Until != "" }

// Set reports whether anything is filtered by.
func (f filter) Set() bool { return f.About+f.Words+f.Action != "" || f.More() }

// with returns the path of a page with the filter, and the page of the list before an entry.
func (f filter) with(path, before string) string {
	query := url.Values{}
	for name, value := range map[string]string{
		"who": f.Who, "action": f.Action, "about": f.About, shell.WordsField: f.Words, "from": f.From, "until": f.Until, "before": before,
		"all": map[bool]string{true: "1"}[f.All],
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// readFilter reads a query or a form. A field that cannot be read is in f.bad.
func readFilter(v url.Values, s shell.Session) (f filter, q store.AuditQuery) {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	f = filter{
		Who: get("who"), Action: get("action"), About: get("about"), Words: get(shell.WordsField), From: get("from"), Until: get("until"), All: get("all") != "",
	}
	q = store.AuditQuery{Actor: f.Who, Action: store.AuditAction(f.Action), Before: v.Get("before"), Limit: store.DefaultLimit}
	q.Changes = !f.All && f.Action == ""
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

// maxRuns is the maximum number of runs of a person or reference whose entries are listed.
const maxRuns = 50

// runs returns the runs that a filter is about, the newest first, and whether there are more; nil for a filter about
// everything.
func (p *Pages) runs(ctx context.Context, s shell.Session, f filter) (ids []verification.RunID, more bool, err error) {
	if id, err := verification.ParseRunID(f.About); err == nil { // which may be deleted
		return []verification.RunID{id}, false, nil
	}
	keys := shell.SearchKeys(f.Words)
	if f.About == "" && keys == nil {
		return nil, false, nil
	}
	found, _, err := p.shell.Engine.RunSummaries(ctx, s.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: maxRuns}, ReferencePrefix: f.About, Keys: keys,
	})
	ids = []verification.RunID{}
	for _, run := range found.Data {
		ids = append(ids, run.ID)
	}
	return ids, found.Total > len(ids), err
}

// entries returns the entries that a query selects, of some runs unless runs is nil.
func (p *Pages) entries(ctx context.Context, s shell.Session, q store.AuditQuery, runs []verification.RunID) (all []store.AuditEntry, err error) {
	if runs == nil {
		return p.trail.AuditEntries(ctx, s.Tenant, q)
	}
	for _, q.Run = range runs {
		some, err := p.trail.AuditEntries(ctx, s.Tenant, q)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b store.AuditEntry) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), q.Limit)], nil
}

// Search leads to the list with the filters of a form.
func (p *Pages) Search(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, _ := readFilter(r.PostForm, s)
	if f.About != "" {
		var err error
		f.About, f.Words, err = p.shell.Searched(s, f.About, func(reference string) (int, error) {
			ids, _, err := p.runs(r.Context(), s, filter{About: reference})
			return len(ids), err
		})
		if err != nil {
			return err
		}
	}
	return shell.Redirect(w, s.Base+f.with("/audit", ""))
}

// Show lists the entries of the tenant that match a filter, the newest first: decisions and changes, or everything.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, q := readFilter(r.URL.Query(), s)
	v := view{Filter: f, People: p.shell.Engine.Searches(), Actions: []shell.Choice{{Text: s.Say("audit.any"), Chosen: f.Action == ""}}}
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
	for _, all := range []bool{false, true} {
		tab := f
		tab.All, tab.Action = all, ""
		v.Tabs = append(v.Tabs, shell.Choice{
			Value: s.Base + tab.with("/audit", ""), Text: s.Say(map[bool]string{false: "audit.changes", true: "audit.all"}[all]), Chosen: f.Action == "" && f.All == all,
		})
	}
	runs, more, err := p.runs(r.Context(), s, f)
	if err != nil {
		return err
	}
	if more {
		v.Cut = s.Say("audit.cut", maxRuns)
	}
	var older string
	if v.Rows, older, err = p.rows(r.Context(), s, q, runs); err != nil {
		return err
	}
	v.Download = s.Base + f.with("/audit.ndjson", "")
	v.Pager = shell.PagerOfEntries(s, q.Before, older, func(before string) string { return s.Base + f.with("/audit", before) })
	key := "audit.empty"
	if f.Set() {
		key = "audit.none"
	}
	v.Empty = web.Empty{Icon: "shield", Title: s.Say(key), Text: s.Say(key + ".text")}
	return p.shell.Render(w, s, http.StatusOK, "audit", "section.audit", v)
}

// Export sends the entries that match a filter as NDJSON, the newest first.
func (p *Pages) Export(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, q := readFilter(r.URL.Query(), s)
	if len(f.bad) > 0 {
		return verification.InvalidField("audit", f.bad[0], "cannot be read")
	}
	runs, more, err := p.runs(r.Context(), s, f)
	if err != nil {
		return err
	}
	if more { // a file must not lack what its reader cannot see
		return verification.InvalidField("audit", "about", fmt.Sprintf("more than %d runs match: name one of them", maxRuns))
	}
	if r.Method == http.MethodGet {
		at := p.now().UTC().Truncate(time.Microsecond)
		export := store.AuditEntry{
			Tenant: s.Tenant, ID: store.AuditID(at, rand.Text()), At: at, Actor: s.Actor(), Action: store.AuditExported,
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
		entries, err := p.entries(r.Context(), s, q, runs)
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
