// The earlier runs that a run has found.

package runpage

import (
	"context"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
)

// addEarlier adds what the page says of other runs: of those that came with the run into the queue, and of those
// that the data of its checks names.
func (p *Pages) addEarlier(ctx context.Context, s shell.Session, rec desk.RunRecord, v *runView) error {
	var before []queue.Earlier
	unknown := false
	if rec.Review != nil {
		var found []desk.EarlierRun
		found, unknown = p.Desk.StillRejected(ctx, s.Tenant, rec.Review.Rejections, len(rec.Review.Rejections.Runs))
		for _, run := range found {
			before = append(before, earlierOf(s, run, v.Related))
		}
	}
	v.Past = pastOf(s, before, unknown, v.Related)
	known := map[string]*queue.Earlier{}
	for i := range v.cards {
		if err := p.linkRuns(ctx, s, v.cards[i].Table.Fields, known); err != nil {
			return err
		}
	}
	return nil
}

// earlierOf returns what the page says of an earlier run, which may be of an element.
func earlierOf(s shell.Session, run desk.EarlierRun, related *relatedView) queue.Earlier {
	e := queue.EarlierOf(s, run)
	if related == nil {
		return e
	}
	i := slices.IndexFunc(related.Rows, func(row relatedRow) bool { return row.URL == e.URL })
	if i < 0 || len(related.Rows[i].Elements) == 0 {
		return e
	}
	if related.Rows[i].elements {
		run.By = slices.DeleteFunc(slices.Clone(run.By), func(by verification.EarlierBy) bool { return by == verification.EarlierPerson })
		e = queue.EarlierOf(s, run)
	}
	e.Why = strings.Join(related.Rows[i].Elements, ", ") + ", " + e.Why
	return e
}

// maxLinkedRuns is how many runs a page looks up for the data of its checks.
const maxLinkedRuns = 100

// linkRuns adds to values that are ids of runs what is shown of these runs.
func (p *Pages) linkRuns(ctx context.Context, s shell.Session, fields []dataField, known map[string]*queue.Earlier) error {
	for i := range fields {
		f := &fields[i]
		if err := p.linkRuns(ctx, s, f.Fields, known); err != nil {
			return err
		}
		if err := p.linkRuns(ctx, s, f.Items, known); err != nil {
			return err
		}
		id, err := verification.ParseRunID(f.Text)
		if !f.OfRun || err != nil {
			continue
		}
		if _, seen := known[f.Text]; !seen && len(known) < maxLinkedRuns {
			found, ok, err := p.Desk.EarlierRun(ctx, s.Tenant, id)
			if err != nil {
				return err
			}
			known[f.Text] = nil
			if ok {
				run := queue.EarlierOf(s, found)
				known[f.Text] = &run
			}
		}
		f.Earlier = known[f.Text]
	}
	return nil
}
