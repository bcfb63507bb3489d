// Kept: the lists of holds, restrictions and removals, from which an admin ends and lifts them.

package queue

import (
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// keptView is the data of the page keptruns.
type keptView struct {
	Tabs      []shell.Choice // the values are URLs
	Rows      []keptRow
	MaxReason int
	Pager     *web.Pager
	Empty     web.Empty
}

// keptRow is a run of the page keptruns.
type keptRow struct {
	URL, Reference string // the URL is empty for a deleted run
	ID             verification.RunID
	At             shell.Instant
	By, Reason     string
	End            string // the URL that ends a hold or, with NeedsReason, lifts a restriction; empty for a person who may not
	NeedsReason    bool
}

// keptLists returns the lists, by the action of which they have the runs.
func keptLists() []store.AuditAction {
	return []store.AuditAction{store.AuditRunHeld, store.AuditRunRestricted, store.AuditRunRedacted, store.AuditRunDeleted}
}

// ShowKept lists the runs that are under a hold or restricted, or that were redacted or deleted.
func (p *Pages) ShowKept(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	get := r.URL.Query().Get
	list := keptLists()[0]
	v := keptView{MaxReason: rules.MaxNotes}
	at := func(action store.AuditAction, before string) string {
		query := url.Values{"list": {string(action)}}
		if before != "" {
			query.Set("before", before)
		}
		return s.Base + "/runs/kept?" + query.Encode()
	}
	for _, action := range keptLists() {
		if string(action) == get("list") {
			list = action
		}
	}
	for _, action := range keptLists() {
		v.Tabs = append(v.Tabs, shell.Choice{Value: at(action, ""), Text: s.Say("keptruns." + string(action)), Chosen: action == list})
	}
	runs, older, err := p.desk.KeptRuns(r.Context(), s.Tenant, list, get("before"))
	if err != nil {
		return err
	}
	for _, run := range runs {
		row := keptRow{ID: run.AuditEntry.Run, At: s.At(run.At), By: run.Actor.Name, Reference: s.Say("audit.deleted"), Reason: run.Reason}
		if run.Run.Seq > 0 {
			row.URL, row.Reference = s.Base+"/runs/"+string(row.ID)+"#personal", s.Reference(run.Run.Started.ReferenceID, run.Run.RestrictedAt)
		}
		switch list { //nolint:exhaustive // nothing ends the others
		case store.AuditRunHeld:
			row.End = s.Base + "/runs/" + string(row.ID) + "/hold/end"
		case store.AuditRunRestricted:
			row.End, row.NeedsReason = s.Base+"/runs/"+string(row.ID)+"/restrict/end", true
		case store.AuditRunRedacted:
			if run.Detail != "" {
				row.Reason = s.Say("redact.reason." + run.Detail)
			}
		}
		if !s.May(verification.RoleAdmin) {
			row.End = ""
		}
		v.Rows = append(v.Rows, row)
	}
	v.Pager = shell.PagerOfEntries(s, get("before"), older, func(before string) string { return at(list, before) })
	v.Empty = web.Empty{Icon: "lock", Title: s.Say("keptruns.empty"), Text: s.Say("keptruns.empty.text")}
	return p.shell.Render(w, s, http.StatusOK, "keptruns", "keptruns.title", v)
}
