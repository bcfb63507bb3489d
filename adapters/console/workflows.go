// Workflows: the list, and one workflow with its versions, its graph and what differs
// between two versions.

package console

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/graph"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// workflowsView is the data of the page workflows.
type workflowsView struct {
	Rows  []workflowRow
	Pager *web.Pager
	Empty web.Empty
}

type workflowRow struct {
	URL, Name, Slug, Description string
	Versions                     int
	State                        web.Badge
	CreatedAt                    instant
}

func (c *console) workflowsPage(w http.ResponseWriter, r *http.Request, s session) error {
	q := pageOf(r)
	found, err := c.engine.Workflows(r.Context(), s.Tenant, q)
	if err != nil {
		return err
	}
	if last, yes := beyondLastPage(r, s, found); yes {
		return c.redirect(w, last)
	}
	v := workflowsView{Empty: web.Empty{Icon: "branch", Title: s.Message("workflows.empty"), Text: s.Message("workflows.empty.text")}}
	for _, one := range found.Data {
		v.Rows = append(v.Rows, workflowRow{
			URL: s.Base + "/workflows/" + string(one.ID), Name: one.Name, Slug: one.Slug, Description: one.Description,
			Versions: one.Versions, State: s.stateOf(one), CreatedAt: s.At(one.CreatedAt),
		})
	}
	v.Pager = pagerOf(r, s, found)
	return c.render(w, s, http.StatusOK, "workflows", "section.workflows", v)
}

// stateOf says which version of a workflow new runs execute.
func (s session) stateOf(w workflow.Workflow) web.Badge {
	switch {
	case w.PublishedHash == "":
		return web.Badge{Tone: web.Warning, Icon: "info", Text: s.Message("workflow.unpublished")}
	case w.PublishedHash != w.LatestHash:
		return web.Badge{Tone: web.Info, Icon: "info", Text: s.Message("workflow.newer")}
	}
	return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Message("workflow.published")}
}

// workflowView is the data of the page workflow.
type workflowView struct {
	workflow.Workflow
	State    web.Badge
	TTL      string
	Idle     string
	Shown    *versionRow
	Before   *versionRow // the version that Shown is compared with; nil for none
	Versions []versionRow
	Pager    *web.Pager
	Graph    *graphView
	Receiver string // of notices, without the query of its URL, which may hold a secret
	Runs     int    // of the shown version
	Changes  []changeRow
}

// versionRow is a version in the list of a workflow.
type versionRow struct {
	Hash, Short   string
	Number        int
	CreatedAt     instant
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

func (c *console) workflowPage(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := verification.ParseWorkflowID(chi.URLParam(r, "workflow"))
	if err != nil {
		return verification.NotFound("workflow")
	}
	detail, err := c.engine.Workflow(r.Context(), s.Tenant, id)
	if err != nil {
		return err
	}
	v := workflowView{
		Workflow: detail.Workflow, Receiver: receiverOf(detail.Workflow.LifecycleWebhookURL), State: s.stateOf(detail.Workflow),
		TTL: s.seconds(detail.RunTTLSeconds), Idle: s.seconds(detail.AbandonTimeoutSeconds),
	}
	q := r.URL.Query()
	shown := q.Get("version")
	if shown == "" {
		shown = detail.Current()
	}
	last, err := c.addVersions(r, s, &v, shown)
	if err != nil {
		return err
	}
	if last != "" {
		return c.redirect(w, last)
	}
	if shown != "" {
		if err := c.addGraph(r, s, &v, shown, q.Get("before")); err != nil {
			return err
		}
	}
	return c.renderTitled(w, s, http.StatusOK, "workflow", detail.Name, v)
}

// seconds returns a limit in the largest unit that divides it.
func (s session) seconds(n int64) string {
	if n == 0 {
		return s.say("duration.none")
	}
	for _, unit := range []struct {
		name    string
		seconds int64
	}{{"days", 86400}, {"hours", 3600}, {"minutes", 60}} {
		if n%unit.seconds == 0 {
			return s.count("duration."+unit.name, int(n/unit.seconds))
		}
	}
	return s.count("duration.seconds", int(n))
}

// addVersions adds a page of the versions of the workflow. If there are none on this page,
// it returns the URL of the last one instead.
func (c *console) addVersions(r *http.Request, s session, v *workflowView, shown string) (last string, err error) {
	found, err := c.engine.Versions(r.Context(), s.Tenant, v.ID, pageOf(r))
	if err != nil {
		return "", err
	}
	if last, yes := beyondLastPage(r, s, found); yes {
		return last, nil
	}
	path := s.Base + "/workflows/" + string(v.ID) + "?"
	for i, one := range found.Data {
		row := s.versionRow(one)
		row.Current, row.Shown = one.Hash == v.Current(), one.Hash == shown
		row.URL = path + url.Values{"version": {one.Hash}}.Encode()
		if i+1 < len(found.Data) {
			row.ComparisonURL = path + url.Values{"before": {found.Data[i+1].Hash}, "version": {one.Hash}}.Encode() + "#graph"
		}
		v.Versions = append(v.Versions, row)
	}
	v.Pager = pagerOf(r, s, found)
	return "", nil
}

func (s session) versionRow(v workflow.VersionInfo) versionRow {
	return versionRow{Hash: v.Hash, Short: v.Hash[:min(12, len(v.Hash))], Number: v.Number, CreatedAt: s.At(v.CreatedAt)}
}

// addGraph adds the graph of a version, or the comparison with another one.
func (c *console) addGraph(r *http.Request, s session, v *workflowView, shown, before string) error {
	version, err := c.engine.Version(r.Context(), s.Tenant, v.ID, shown)
	if err != nil {
		return err
	}
	row := s.versionRow(workflow.VersionInfo{Number: version.Number, Hash: version.Hash, CreatedAt: version.CreatedAt})
	v.Shown = &row
	o := graph.Options{}
	if before != "" && before != shown {
		old, err := c.engine.Version(r.Context(), s.Tenant, v.ID, before)
		if err != nil {
			return err
		}
		oldRow := s.versionRow(workflow.VersionInfo{Number: old.Number, Hash: old.Hash, CreatedAt: old.CreatedAt})
		v.Before, o.Before = &oldRow, &old.Definition
		v.Changes = s.changes(graph.Compare(old.Definition, version.Definition))
		v.Graph = s.graph(version.Definition, o)
		return nil
	}
	counts, err := c.desk.TransitionCounts(r.Context(), s.Tenant, desk.TransitionQuery{Workflow: v.ID, Version: version.Number})
	if err != nil {
		return err
	}
	o.Counts = counts.Transitions
	v.Runs = counts.Transitions[rules.Transition{To: version.Definition.Start}]
	v.Graph = s.graph(version.Definition, o)
	v.Graph.Stopped = counts.Stopped
	return nil
}

// changes returns one line for each field that differs. A node that was added or removed
// has one line alone.
func (s session) changes(c graph.Comparison) []changeRow {
	badge := func(change graph.Change) web.Badge {
		tone := map[graph.Change]web.Tone{
			graph.ChangeAdded: web.Good, graph.ChangeRemoved: web.Bad, graph.ChangeChanged: web.Warning,
		}[change]
		return web.Badge{Tone: tone, Text: s.Message("graph." + string(change))}
	}
	var rows []changeRow
	add := func(node string, fields []graph.FieldChange) {
		for i, f := range fields {
			rows = append(rows, changeRow{node, i == 0, badge(f.Change()), f.Path, plain(f.Before), plain(f.After)})
		}
	}
	add("", c.Fields)
	for _, n := range c.Nodes {
		if n.Change == graph.ChangeChanged {
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

// graphView is the data of the template graph.
type graphView struct {
	session

	Picture template.HTML // empty if the graph is too large for one
	Nodes   []graph.ListedNode
	Counted bool // the routes have the numbers of runs
	Path    bool // one run is highlighted
	Changed bool // two versions are compared
	// Stopped counts the runs that ended at a node before they reached an end.
	Stopped map[verification.NodeID]int
}

// graph draws a definition in the language of the person.
func (s session) graph(d workflow.Definition, o graph.Options) *graphView {
	o.Inline, o.Number = true, s.Number
	o.Title = s.Message("graph.title")
	o.Word = func(english string) string { return s.Message("graph." + english) }
	v := &graphView{session: s, Nodes: graph.List(d, o), Counted: o.Counts != nil, Path: o.Path != nil, Changed: o.Before != nil}
	if picture, err := graph.SVG(d, o); err == nil { // or it is too large
		v.Picture = template.HTML(picture) //nolint:gosec // G203: package graph escapes every text
	}
	return v
}

// runGraph draws the path of one run through the definition that it executed. A page
// shows it with the template "graph", and needs the style sheet graph.css.
func (s session) runGraph(d workflow.Definition, history []rules.Event) *graphView {
	return s.graph(d, graph.Options{Path: rules.Transitions("", history)})
}
