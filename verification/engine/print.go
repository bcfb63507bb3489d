// Printed reports.

package engine

import (
	"context"
	"errors"
	"io"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/store"
)

// PrintReport prints the report of a terminal run, with nothing of a verdict. ErrConflict is
// returned for a live run.
func (e *Engine) PrintReport(ctx context.Context, t verification.TenantID, id verification.RunID) ([]byte, error) {
	return e.print(ctx, t, id, false, false)
}

// PrintFile prints the report of a terminal run for the file of the tenant: with the decision,
// its notes, and who gave it when. ErrConflict is returned for a live run and, unless
// allowMissing is set, for a report with text that cannot be printed here; the subject of the
// error is then the report.
func (e *Engine) PrintFile(ctx context.Context, t verification.TenantID, id verification.RunID, allowMissing bool) ([]byte, error) {
	return e.print(ctx, t, id, true, allowMissing)
}

func (e *Engine) print(ctx context.Context, t verification.TenantID, id verification.RunID, forFile, allowMissing bool) ([]byte, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	h, err := e.history(ctx, ref, false)
	if err != nil {
		return nil, err
	}
	if status := h.report.Run.Status; !status.Terminal() {
		return nil, verification.ConflictFor("run_not_over", "run", "the run is "+string(status)+"; its report is printed once it is over")
	}
	if e.ports.Printer == nil {
		return nil, verification.Unavailable("report", "reports are not printed here")
	}
	program, err := e.program(ctx, h.version(t))
	if err != nil {
		return nil, err
	}
	describe := e.Describer(t)
	run := h.run
	if !forFile {
		run = report.WithoutVerdicts(run)
	}
	p := report.Of(run, program, h.events, h.at, t, describe, forFile)
	p.AllowMissing = allowMissing
	p.Subject = facts.SubjectOf(program, run)
	if forFile {
		named := facts.ElementsOf(program, run)
		p.Report = named.Named(p.Report)
		p.Elements = report.Elements(p.Report, program.Version.Definition, named)
	}
	p.Zone = e.location(h.run.Started.Zone)
	if p.Letterhead, err = e.letterhead(ctx, t); err != nil {
		return nil, err
	}
	if e.ports.Documents != nil {
		for i, d := range p.Documents {
			p.Documents[i].Open = func(ctx context.Context) (io.ReadCloser, error) {
				return e.ports.Documents.OpenDocument(ctx, ref, d.ID)
			}
		}
	}
	if err := e.auditRun(ctx, ref, h.run, store.AuditReportPrinted); err != nil {
		return nil, err
	}
	return e.ports.Printer.PrintReport(ctx, t, p)
}

// letterhead returns the name and the logo of a tenant; nothing of one that is not stored.
func (e *Engine) letterhead(ctx context.Context, t verification.TenantID) (l report.Letterhead, err error) {
	tenant, err := e.store.Tenant(ctx, t)
	if err == nil && tenant.Logo.Name != "" {
		l.Logo, err = tablesOf(e).Logo(ctx, t)
	}
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return l, err
	}
	l.Name = tenant.Name
	return l, nil
}
