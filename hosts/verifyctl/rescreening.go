// The names that finished runs were screened with.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

// fromRuns calls each with every person and company that a completed run of the tenant
// has screened, with the values of the check. It returns the checks whose values cannot
// be computed again.
func (c screeningDiff) fromRuns(ctx context.Context, s *session, each func(screened) error) ([]unscreened, error) {
	var lost []unscreened
	err := c.tenantFlags.with(ctx, s, func(db *database, t verification.Tenant) error {
		q := verification.RunQuery{Status: verification.StatusCompleted, Now: s.clock.Now().UTC()}
		runs, err := all(func(p verification.PageQuery) (verification.Page[verification.Summary], error) {
			q.PageQuery = p
			return db.List(ctx, t.ID, q)
		}, func(verification.Summary) bool { return true })
		if err != nil {
			return err
		}
		programs := programs{db: db, tenant: t.ID, known: map[string]verification.Program{}, screening: screening.NewProvider(nil, nil)}
		for _, r := range runs {
			id := r.View(q.Now).ID
			history, err := db.Load(ctx, t.ID, id, 0)
			if errors.Is(err, verification.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return err
			}
			found, unreadable, err := programs.screenings(ctx, verification.Fold(id, history), c.List, c.ReviewAt)
			if err != nil {
				return err
			}
			lost = append(lost, unreadable...)
			for _, who := range found {
				if err := each(who); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return lost, err
}

// record records new matches on their runs. It returns the number of runs that did not
// know them.
func (c screeningDiff) record(ctx context.Context, s *session, result diffJSON) (recorded int, err error) {
	changed := map[string]bool{}
	err = c.tenantFlags.with(ctx, s, func(db *database, t verification.Tenant) error {
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		for _, m := range result.NewMatches {
			request := verification.RecordHits{Node: verification.NodeID(m.Node), List: m.list, ListVersion: result.NewVersion}
			for _, h := range m.Hits {
				request.Hits = append(request.Hits, verification.Hit{ID: h.ID, Name: h.Name, Score: h.Score, Reasons: h.Reasons})
			}
			is, err := e.RecordHits(ctx, t.ID, verification.RunID(m.Run), request)
			if err != nil {
				return fmt.Errorf("run %s: %w", m.Run, err)
			}
			changed[m.Run] = changed[m.Run] || is
		}
		return nil
	})
	for _, is := range changed {
		if is {
			recorded++
		}
	}
	return recorded, err
}

// programs compiles versions of workflows once.
type programs struct {
	db        *database
	tenant    verification.TenantID
	known     map[string]verification.Program // by hash
	screening *screening.Provider             // reads the values of a check
}

func (p programs) of(ctx context.Context, r verification.Run) (verification.Program, error) {
	workflow, hash := r.Started.Workflow, r.Started.VersionHash
	if known, ok := p.known[hash]; ok {
		return known, nil
	}
	version, err := p.db.Version(ctx, p.tenant, workflow, hash)
	if err != nil {
		return verification.Program{}, fmt.Errorf("load version %s: %w", short(hash), err)
	}
	program, err := verification.Restore(workflow, version, expression.New())
	if err != nil {
		return verification.Program{}, fmt.Errorf("compile version %s: %w", short(hash), err)
	}
	p.known[hash] = program
	return program, nil
}

// screenings returns the people and companies that a run has screened against a list; an
// empty list is any.
func (p programs) screenings(ctx context.Context, r verification.Run, list string, reviewAt float64) (found []screened, lost []unscreened, err error) {
	program, err := p.of(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	for _, step := range r.Steps {
		node := program.Version.Definition.Nodes[step.Node]
		if node.Provider != screening.ProviderName && node.Fallback != screening.ProviderName {
			continue
		}
		// The values of a check are not stored: they are computed from the run again.
		request, err := program.RequestAgain(p.tenant, r, step.Node)
		if err != nil {
			lost = append(lost, unscreened{string(r.ID), string(step.Node), "the values of the check cannot be computed: " + err.Error()})
			continue
		}
		with, _ := request.With["list"].(string)
		if list != "" && with != list {
			continue
		}
		subject, err := p.screening.Subject(request.With)
		if err != nil {
			lost = append(lost, unscreened{string(r.ID), string(step.Node), err.Error()})
			continue
		}
		who := screened{
			Run: string(r.ID), ReferenceID: r.Started.ReferenceID, Node: string(step.Node),
			Kind: string(subject.Kind), Name: subject.Name, list: with, subject: subject, reviewAt: reviewAt,
		}
		found = append(found, who)
	}
	return found, lost, nil
}
