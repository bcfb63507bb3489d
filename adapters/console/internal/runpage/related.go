// The runs that may be of the same person.

package runpage

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// relatedView is the part of the run page about runs that may be of the same person.
type relatedView struct {
	Count string
	Rows  []relatedRow
}

type relatedRow struct {
	URL, Reference, Workflow string
	Same                     string // what both runs have in common
	Badge                    web.Badge
	Reason                   string // of a rejection; empty for none
	StartedAt                shell.Instant
}

// relatedView returns the runs that may be of the person of a run; nil if there are none.
func (p *Pages) relatedView(r *http.Request, s shell.Session, rec desk.RunRecord) (*relatedView, error) {
	found, err := p.Desk.RelatedRuns(r.Context(), s.Tenant, rec)
	switch {
	case errors.Is(err, verification.ErrUnavailable): // such as a reference that millions of runs share
		return &relatedView{Count: s.Say("related.unavailable")}, nil
	case err != nil || len(found.Runs) == 0:
		return nil, err
	}
	key := "related.total"
	if found.AtLeast {
		key = "related.atleast"
	}
	v := &relatedView{Count: s.Count(key, found.Total)}
	names := map[verification.WorkflowID]string{}
	for _, run := range found.Runs {
		row := relatedRow{URL: s.Base + "/runs/" + string(run.ID), Reference: run.ReferenceID, StartedAt: s.At(run.StartedAt)}
		if row.Workflow, err = p.shell.WorkflowName(r, s, names, run.Workflow); err != nil {
			return nil, err
		}
		var same []string
		for _, relation := range run.Same {
			same = append(same, s.Say("related."+string(relation)))
		}
		row.Same = strings.Join(same, ", ")
		row.Reason = cmp.Or(run.Rejection.In(s.Lang()).Label, run.Rejection.Code)
		row.Badge = s.StatusBadge(run.StatusAt(found.At))
		if d := run.DecisionAt(found.At); d != rules.DecisionNone {
			row.Badge = s.DecisionBadge(d)
		} else if b, ok := shell.OutcomeBadge(run.Outcome); ok {
			row.Badge = b
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}
