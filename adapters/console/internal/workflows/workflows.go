// Package workflows has the pages of workflows: the list, and one workflow with its versions, its
// graph and what differs between two versions.
package workflows

import (
	"embed"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

//go:embed page/*.html
var files embed.FS

// Pages has the handlers.
type Pages struct {
	shell *shell.Shell
	desk  *desk.Desk
}

// New adds the pages to a shell.
func New(sh *shell.Shell, d *desk.Desk) (*Pages, error) {
	return &Pages{sh, d}, sh.AddPages(files)
}

// listView is the data of the page workflows.
type listView struct {
	Rows  []workflowRow
	Pager *web.Pager
	Empty web.Empty
}

type workflowRow struct {
	URL, Name, Slug, Description string
	Versions                     int
	State                        web.Badge
	CreatedAt                    shell.Instant
}

// List shows the workflows of the tenant.
func (p *Pages) List(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	q := shell.PageOf(r)
	found, err := p.shell.Engine.Workflows(r.Context(), s.Tenant, q)
	if err != nil {
		return err
	}
	if last, yes := shell.BeyondLastPage(r, s, found); yes {
		return shell.Redirect(w, last)
	}
	v := listView{Empty: web.Empty{Icon: "branch", Title: s.Message("workflows.empty"), Text: s.Message("workflows.empty.text")}}
	for _, one := range found.Data {
		v.Rows = append(v.Rows, workflowRow{
			URL: s.Base + "/workflows/" + string(one.ID), Name: one.Name, Slug: one.Slug, Description: one.Description,
			Versions: one.Versions, State: stateOf(s, one), CreatedAt: s.At(one.CreatedAt),
		})
	}
	v.Pager = shell.PagerOf(r, s, found)
	return p.shell.Render(w, s, http.StatusOK, "workflows", "section.workflows", v)
}

// stateOf says which version of a workflow new runs execute.
func stateOf(s shell.Session, w workflow.Workflow) web.Badge {
	switch {
	case w.PublishedHash == "":
		return web.Badge{Tone: web.Warning, Icon: "info", Text: s.Message("workflow.unpublished")}
	case w.PublishedHash != w.LatestHash:
		return web.Badge{Tone: web.Info, Icon: "info", Text: s.Message("workflow.newer")}
	}
	return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Message("workflow.published")}
}

// view is the data of the page workflow.
type view struct {
	workflow.Workflow
	State    web.Badge
	TTL      string
	Idle     string
	Shown    *versionRow
	Before   *versionRow // the version that Shown is compared with; nil for none
	Versions []versionRow
	Pager    *web.Pager
	Graph    *shell.Graph
	Receiver string // of notices, without the query of its URL, which may hold a secret
	Runs     int    // of the shown version
	Changes  []changeRow
}

// versionRow is a version in the list of a workflow.
type versionRow struct {
	Hash, Short   string
	Number        int
	CreatedAt     shell.Instant
	Current       bool // new runs execute it
	Shown         bool
	URL           string
	ComparisonURL string // with the version before it; empty for the first
}

// changeRow is one line of a comparison.
type changeRow struct {
	Node          string // empty for the workflow itself
	First         bool   // of its node
	Badge         web.Badge
	Field         string
	Before, After string
}

// Show shows a workflow.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := verification.ParseWorkflowID(chi.URLParam(r, "workflow"))
	if err != nil {
		return verification.NotFound("workflow")
	}
	detail, err := p.shell.Engine.Workflow(r.Context(), s.Tenant, id)
	if err != nil {
		return err
	}
	v := view{
		Workflow: detail.Workflow, Receiver: shell.ReceiverOf(detail.Workflow.LifecycleWebhookURL), State: stateOf(s, detail.Workflow),
		TTL: lasting(s, detail.RunTTLSeconds), Idle: lasting(s, detail.AbandonTimeoutSeconds),
	}
	q := r.URL.Query()
	shown := q.Get("version")
	if shown == "" {
		shown = detail.Current()
	}
	last, err := p.addVersions(r, s, &v, shown)
	if err != nil {
		return err
	}
	if last != "" {
		return shell.Redirect(w, last)
	}
	if shown != "" {
		if err := p.addGraph(r, s, &v, shown, q.Get("before")); err != nil {
			return err
		}
	}
	return p.shell.RenderTitled(w, s, http.StatusOK, "workflow", detail.Name, v)
}

// lasting returns a limit in the largest unit that divides it.
func lasting(s shell.Session, n int64) string {
	if n == 0 {
		return s.Say("duration.none")
	}
	for _, unit := range []struct {
		name    string
		seconds int64
	}{{"days", 86400}, {"hours", 3600}, {"minutes", 60}} {
		if n%unit.seconds == 0 {
			return s.Count("duration."+unit.name, int(n/unit.seconds))
		}
	}
	return s.Count("duration.seconds", int(n))
}

// addVersions adds a page of the versions of the workflow. If there are none on this page,
// it returns the URL of the last one instead.
func (p *Pages) addVersions(r *http.Request, s shell.Session, v *view, shown string) (last string, err error) {
	found, err := p.shell.Engine.Versions(r.Context(), s.Tenant, v.ID, shell.PageOf(r))
	if err != nil {
		return "", err
	}
	if last, yes := shell.BeyondLastPage(r, s, found); yes {
		return last, nil
	}
	path := s.Base + "/workflows/" + string(v.ID) + "?"
	for i, one := range found.Data {
		row := versionOf(s, one)
		row.Current, row.Shown = one.Hash == v.Current(), one.Hash == shown
		row.URL = path + url.Values{"version": {one.Hash}}.Encode()
		if i+1 < len(found.Data) {
			row.ComparisonURL = path + url.Values{"before": {found.Data[i+1].Hash}, "version": {one.Hash}}.Encode() + "#graph"
		}
		v.Versions = append(v.Versions, row)
	}
	v.Pager = shell.PagerOf(r, s, found)
	return "", nil
}

func versionOf(s shell.Session, v workflow.VersionInfo) versionRow {
	return versionRow{Hash: v.Hash, Short: v.Hash[:min(12, len(v.Hash))], Number: v.Number, CreatedAt: s.At(v.CreatedAt)}
}

// addGraph adds the graph of a version, or the comparison with another one.
func (p *Pages) addGraph(r *http.Request, s shell.Session, v *view, shown, before string) error {
	version, err := p.shell.Engine.Version(r.Context(), s.Tenant, v.ID, shown)
	if err != nil {
		return err
	}
	row := versionOf(s, workflow.VersionInfo{Number: version.Number, Hash: version.Hash, CreatedAt: version.CreatedAt})
	v.Shown = &row
	o := drawing.Options{}
	if before != "" && before != shown {
		old, err := p.shell.Engine.Version(r.Context(), s.Tenant, v.ID, before)
		if err != nil {
			return err
		}
		oldRow := versionOf(s, workflow.VersionInfo{Number: old.Number, Hash: old.Hash, CreatedAt: old.CreatedAt})
		v.Before, o.Before = &oldRow, &old.Definition
		v.Changes = changesOf(s, drawing.Compare(old.Definition, version.Definition))
		v.Graph = s.Graph(version.Definition, o)
		return nil
	}
	counts, err := p.desk.TransitionCounts(r.Context(), s.Tenant, desk.TransitionQuery{Workflow: v.ID, Version: version.Number})
	if err != nil {
		return err
	}
	o.Counts = counts.Transitions
	v.Runs = counts.Transitions[rules.Transition{To: version.Definition.Start}]
	v.Graph = s.Graph(version.Definition, o)
	v.Graph.Stopped = counts.Stopped
	return nil
}

// changesOf returns one line for each field that differs. A node that was added or removed
// has one line alone.
func changesOf(s shell.Session, c drawing.Comparison) []changeRow {
	badge := func(change drawing.Change) web.Badge {
		tone := map[drawing.Change]web.Tone{
			drawing.ChangeAdded: web.Good, drawing.ChangeRemoved: web.Bad, drawing.ChangeChanged: web.Warning,
		}[change]
		return web.Badge{Tone: tone, Text: s.Message("graph." + string(change))}
	}
	var rows []changeRow
	add := func(node string, fields []drawing.FieldChange) {
		for i, f := range fields {
			rows = append(rows, changeRow{node, i == 0, badge(f.Change()), f.Path, plain(f.Before), plain(f.After)})
		}
	}
	add("", c.Fields)
	for _, n := range c.Nodes {
		if n.Change == drawing.ChangeChanged {
			add(string(n.Node), n.Fields)
		} else {
			rows = append(rows, changeRow{Node: string(n.Node), First: true, Badge: badge(n.Change)})
		}
	}
	return rows
}

// plain returns a value in JSON as people write it: a string without its quotation marks.
func plain(value string) string {
	var text string
	if !strings.HasPrefix(value, `"`) || json.Unmarshal([]byte(value), &text) != nil {
		return value
	}
	return text
}
