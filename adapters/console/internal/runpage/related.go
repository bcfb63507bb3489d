// The runs that may be of the same person.

package runpage

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
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
	Weak                     bool // it has only a phone number or a mail address in common
	URL, Reference, Workflow string
	Same                     string // what both runs have in common
	Badge                    web.Badge
	Reason                   string // of a rejection; empty for none
	Elements                 []string
	elements                 bool // it has nothing else in common
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
		strong := slices.ContainsFunc(run.Same, func(r desk.Relation) bool { return !r.Weak() })
		row := relatedRow{Weak: !strong, URL: s.Base + "/runs/" + string(run.ID), Reference: s.Reference(run.ReferenceID, run.RestrictedAt), StartedAt: s.At(run.StartedAt)}
		if row.Workflow, err = p.shell.WorkflowName(r, s, names, run.Workflow); err != nil {
			return nil, err
		}
		var same []string
		for _, e := range run.Elements {
			row.Elements = append(row.Elements, e.Label+" "+shell.Isolate(e.Who()))
		}
		row.elements = len(run.Same) == 1 && len(run.Elements) > 0
		for _, relation := range run.Same {
			if relation == desk.SameElement {
				same = append(same, row.Elements...)
				continue
			}
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

// pastView is what the head of the page says of other runs of the person or company.
type pastView struct {
	Before  []queue.Earlier // that were rejected
	Unknown bool            // earlier rejections were not looked up, or not all of them
	Others  []relatedRow    // that have more than a phone number or a mail address in common
	Weak    string          // counts those that have no more in common; empty for none
	// Elements are those that are in other runs, which have nothing else in common.
	Elements []pastElement
}

// pastElement is an element that is in other runs.
type pastElement struct {
	Who  string
	Runs []relatedRow
}

// maxPast is how many other runs the head of the page names.
const maxPast = 4

// pastOf returns what the head of the page says; nil for nothing.
func pastOf(s shell.Session, before []queue.Earlier, unknown bool, related *relatedView) *pastView {
	v := pastView{Before: before, Unknown: unknown}
	weak := 0
	if related != nil {
		for _, row := range related.Rows {
			switch {
			case row.Weak:
				weak++
			case row.elements && slices.ContainsFunc(before, func(e queue.Earlier) bool { return e.URL == row.URL }):
			case row.elements:
				v.addElements(row)
			case len(v.Others) < maxPast && !slices.ContainsFunc(before, func(e queue.Earlier) bool { return e.URL == row.URL }):
				v.Others = append(v.Others, row)
			}
		}
	}
	if weak > 0 {
		v.Weak = s.Count("related.weak", weak)
	}
	if len(v.Before) == 0 && !unknown && len(v.Others) == 0 && len(v.Elements) == 0 && weak == 0 {
		return nil
	}
	return &v
}

// addElements adds a run to each of its elements.
func (v *pastView) addElements(row relatedRow) {
	for _, who := range row.Elements {
		i := slices.IndexFunc(v.Elements, func(e pastElement) bool { return e.Who == who })
		if i < 0 {
			i, v.Elements = len(v.Elements), append(v.Elements, pastElement{Who: who})
		}
		if e := &v.Elements[i]; len(e.Runs) < maxPast {
			e.Runs = append(e.Runs, row)
		}
	}
}
