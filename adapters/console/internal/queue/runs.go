// Runs: every run of the tenant, with the filters of the API.

package queue

import (
	"net/http"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// runsView is the data of the page runs.
type runsView struct {
	Filter   runFilter
	Search   searchView
	Statuses []shell.Choice
	Decided  []shell.Choice
	Workflow shell.WorkflowChoice
	Problems *web.Summary
	Rows     []runRow
	Redact   string // the URL that asks for the redaction of selected runs; empty if the person may not, or has searched for nobody
	Total    string
	Kept     string // the URL of the holds, restrictions and removals; empty for a person who may not see them
	Pager    *web.Pager
	Empty    web.Empty
}

// runFilter is the form above the list as it was sent.
type runFilter struct {
	Reference, From, To string
	Set                 bool // any filter is set
	More                bool // one other than the reference is set
	badFrom, badTo      bool
}

// Bad reports whether the value of a field is not a date.
func (f runFilter) Bad(field string) bool {
	return f.badFrom && field == "from" || f.badTo && field == "to"
}

type runRow struct {
	ID                         verification.RunID
	URL, ReferenceID, Workflow string
	Status                     web.Badge
	Decision                   *web.Badge // nil for none
	Waiting                    string
	StartedAt                  shell.Instant
	CompletedAt                *shell.Instant
}

func (p *Pages) ShowRuns(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	v := runsView{}
	if s.Role.Audits() {
		v.Kept = s.Base + "/runs/kept"
	}
	q, err := v.filter(r, s)
	if err != nil {
		return err
	}
	if v.Workflow, err = p.shell.WorkflowChoices(r, s, q.Workflow); err != nil {
		return err
	}
	v.Search, err = p.searchView(s, v.Filter.Reference, store.FormatKeys(q.Keys), func(words string) (string, func() (int, error)) {
		query, of := r.URL.Query(), q
		for _, name := range []string{"lang", "page", "reference", shell.WordsField} {
			query.Del(name)
		}
		if of.ReferencePrefix, of.Keys = "", shell.SearchKeys(words); words != "" {
			query.Set(shell.WordsField, words)
		}
		return s.Base + "/runs?" + query.Encode(), func() (int, error) { return p.runCount(r.Context(), s, of) }
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if v.Problems != nil {
		status = http.StatusBadRequest
	} else {
		last, err := p.addRuns(r, s, &v, q)
		if err != nil {
			return err
		}
		if last != "" {
			return shell.Redirect(w, last)
		}
	}
	return p.shell.Render(w, s, status, "runs", "section.runs", v)
}

// filter reads the form. A date that cannot be read becomes a problem; an unknown status,
// decision or workflow, which the form does not offer, is an error.
func (v *runsView) filter(r *http.Request, s shell.Session) (q store.RunQuery, err error) {
	get := r.URL.Query().Get
	q.PageQuery = shell.PageOf(r)
	if text := get("status"); text != "" {
		if q.Status, err = rules.ParseStatus(text); err != nil {
			return q, err
		}
	}
	if text := get("decision"); text != "" {
		if q.Decision, err = rules.ParseDecision(text); err != nil {
			return q, err
		}
	}
	if text := get("workflow"); text != "" {
		if q.Workflow, err = verification.ParseWorkflowID(text); err != nil {
			return q, err
		}
	}
	v.Filter = runFilter{Reference: strings.TrimSpace(get("reference")), From: get("from"), To: get("to")}
	q.ReferencePrefix, q.Keys = v.Filter.Reference, shell.SearchKeys(get(shell.WordsField))
	from, okFrom := dayOf(s, v.Filter.From)
	to, okTo := dayOf(s, v.Filter.To)
	if !from.IsZero() {
		q.StartedAfter = from.Add(-time.Microsecond) // times are kept to the microsecond
	}
	if !to.IsZero() {
		q.StartedBefore = to.AddDate(0, 0, 1)
	}
	v.Filter.badFrom, v.Filter.badTo = !okFrom, !okTo
	v.Filter.More = q.Status != "" || q.Decision != "" || q.Workflow != "" || v.Filter.From != "" || v.Filter.To != ""
	v.Filter.Set = v.Filter.More || v.Filter.Reference != "" || q.Keys != nil
	for _, field := range []string{"from", "to"} {
		if v.Filter.Bad(field) {
			if v.Problems == nil {
				v.Problems = &web.Summary{Title: s.Message("runs.problem")}
			}
			v.Problems.Problems = append(v.Problems.Problems, web.Problem{Target: field, Label: s.Message("runs." + field), Text: s.Message("runs.problem.date")})
		}
	}
	statuses, decisions := []string{}, []string{}
	for _, one := range rules.Statuses() {
		statuses = append(statuses, string(one))
	}
	for _, one := range []rules.Decision{rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject} {
		decisions = append(decisions, string(one))
	}
	v.Statuses = choices(s.Message("runs.status.any"), string(q.Status), statuses, func(v string) string { return s.Message("status." + v) })
	v.Decided = choices(s.Message("runs.decision.any"), string(q.Decision), decisions, func(v string) string { return s.Message("decision." + v) })
	return q, nil
}

// dayOf returns the beginning of a day as in 2026-11-22 in the zone of the person; zero for
// an empty text.
func dayOf(s shell.Session, text string) (begin time.Time, ok bool) {
	if text == "" {
		return time.Time{}, true
	}
	begin, err := time.ParseInLocation(time.DateOnly, text, s.Zone)
	return begin, err == nil && begin.UTC().Year() >= 1
}

// addRuns adds a page of runs. If there are none on this page, it returns the URL of the
// last one instead.
func (p *Pages) addRuns(r *http.Request, s shell.Session, v *runsView, q store.RunQuery) (last string, err error) {
	found, at, err := p.shell.Engine.RunSummaries(r.Context(), s.Tenant, q)
	if err != nil {
		return "", err
	}
	if last, yes := shell.BeyondLastPage(r, s, found); yes {
		return last, nil
	}
	query := queryOfRunPages(r, s)
	if s.May(verification.RoleAdmin) && (v.Filter.Reference != "" || q.Keys != nil) {
		v.Redact = s.Base + "/runs/redact" + query
	}
	for _, summary := range found.Data {
		one := summary.View(at)
		workflow, err := p.shell.WorkflowName(r, s, v.Workflow.Names, one.WorkflowID)
		if err != nil {
			return "", err
		}
		row := runRow{
			ID: one.ID, URL: s.Base + "/runs/" + string(one.ID) + query, ReferenceID: s.Reference(one.ReferenceID, one.RestrictedAt), Workflow: workflow,
			Status: s.StatusBadge(one.Status), StartedAt: s.At(one.StartedAt),
		}
		if d := summary.DecisionAt(at); d != rules.DecisionNone {
			b := s.DecisionBadge(d)
			row.Decision = &b
		} else if b, ok := shell.OutcomeBadge(one.Outcome); ok {
			row.Decision = &b
		}
		if one.Action != nil && one.Action.Type == rules.ActionCustomerInput {
			row.Waiting = s.Message("runs.waiting.customer")
		}
		if !one.CompletedAt.IsZero() {
			at := s.At(one.CompletedAt)
			row.CompletedAt = &at
		}
		v.Rows = append(v.Rows, row)
	}
	v.Total = s.Count("runs.total", found.Total)
	key := "runs.empty"
	if v.Filter.Set {
		key = "runs.none"
	}
	v.Empty = web.Empty{Icon: "document", Title: s.Message(key), Text: s.Message(key + ".text")}
	v.Pager = shell.PagerOf(r, s, found)
	return "", nil
}

// choices returns the options of a select; the first one is for any value.
func choices(any, chosen string, values []string, text func(string) string) []shell.Choice {
	all := []shell.Choice{{Text: any, Chosen: chosen == ""}}
	for _, v := range values {
		all = append(all, shell.Choice{Value: v, Text: text(v), Chosen: v == chosen})
	}
	return all
}
