// The consistency of all reads of a run.

package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Consistent waits for current work, reads every run of Acme in every way and returns an
// error if the reads break a rule of the contract:
//
//   - every run has exactly one of the six statuses in lists;
//   - decision=review returns exactly the runs whose decision is review, and the
//     same for approve and reject;
//   - a list and a single read agree, except for the fields that a list omits;
//   - reviews and the decision fields are the same on a run and its report;
//   - a card that needs review is a step in reviews;
//   - lists are newest first, and total is the number of runs that match.
func (c *Client) Consistent(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	api, err := client.New(client.Options{
		BaseURL: c.host.URL(), ClientID: "acme", APIKey: APIKey, HTTP: &http.Client{Transport: c}, Attempts: 1,
	})
	if err != nil {
		return err
	}
	all, err := list(ctx, api, client.RunQuery{})
	if err != nil {
		return err
	}
	byStatus, byDecision := map[verification.RunID][]rules.Status{}, map[verification.RunID][]rules.Decision{}
	for _, s := range rules.Statuses() {
		runs, err := list(ctx, api, client.RunQuery{Status: s})
		if err != nil {
			return err
		}
		for _, r := range runs {
			byStatus[r.ID] = append(byStatus[r.ID], s)
		}
	}
	for _, d := range []rules.Decision{rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject} {
		runs, err := list(ctx, api, client.RunQuery{Decision: d})
		if err != nil {
			return err
		}
		for _, r := range runs {
			byDecision[r.ID] = append(byDecision[r.ID], d)
		}
	}
	var problems []error
	for i, listed := range all {
		if i > 0 && all[i-1].StartedAt.Before(listed.StartedAt.Time) {
			problems = append(problems, fmt.Errorf("run %s is listed after an older one", listed.ID))
		}
		run, err := api.ReadRun(ctx, listed.ID)
		if err != nil {
			return err
		}
		report, err := api.ReadReport(ctx, listed.ID)
		if err != nil {
			return err
		}
		if got, want := byStatus[run.ID], []rules.Status{run.Status}; !slices.Equal(got, want) {
			problems = append(problems, fmt.Errorf("run %s reads %v and is found by status %v", run.ID, want, got))
		}
		var decided []rules.Decision
		if run.Decision != nil {
			decided = append(decided, *run.Decision)
		}
		if got := byDecision[run.ID]; !slices.Equal(got, decided) {
			problems = append(problems, fmt.Errorf("run %s reads %q and is found by decision %v", run.ID, strings.Trim(fmt.Sprint(decided), "[]"), got))
		}
		problems = append(problems, same(run.ID, "the list", "the run", listed, run.Run), sameReport(run, report))
	}
	return errors.Join(problems...)
}

// RoundTrip implements http.RoundTripper: it sends a request as send does.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := c.send(r.Context(), r.Method, r.URL.RequestURI(), r.Header, "")
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: got.Status, Header: got.Header, Body: io.NopCloser(bytes.NewReader(got.Body)), Request: r}, nil
}

// list reads a list in short pages, and its total.
func list(ctx context.Context, api *client.Client, q client.RunQuery) (all []apitypes.Run, err error) {
	q.Limit = 3
	page, err := api.ListRuns(ctx, q)
	if err != nil {
		return nil, err
	}
	for r, err := range api.Runs(ctx, q) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if page.Total != len(all) {
		return nil, fmt.Errorf("the list %+v has total %d and %d runs", q, page.Total, len(all))
	}
	return all, nil
}

// same returns an error unless two places say the same about a run.
func same(id verification.RunID, here, there string, a, b any) error {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return fmt.Errorf("run %s: %s is %s, and %s is %s", id, here, show(a), there, show(b))
}

func sameReport(run apitypes.RunDetail, report apitypes.Report) error {
	head := apitypes.ReportRun{
		ID: run.ID, ReferenceID: run.ReferenceID, Status: run.Status, StartedAt: run.StartedAt, CompletedAt: run.CompletedAt, Outcome: run.Outcome,
		RedactedAt: run.RedactedAt, RestrictedAt: run.RestrictedAt, ErasedAt: run.ErasedAt, DocumentsRemovedAt: run.DocumentsRemovedAt,
	}
	problems := []error{
		same(run.ID, "run", "run of its report", head, report.Run),
		same(run.ID, "error", "error of its report", run.Error, report.Error),
		same(run.ID, "reviews", "reviews of its report", run.Reviews, report.Reviews),
		same(run.ID, "decision", "decision of its report", run.Decision, report.Decision),
		same(run.ID, "notes", "notes of its report", run.Notes, report.Notes),
		same(run.ID, "resolved_at", "resolved_at of its report", run.ResolvedAt, report.ResolvedAt),
		same(run.ID, "proposal", "proposal of its report", run.Proposal, report.Proposal),
	}
	for _, card := range report.Cards {
		flagged := slices.ContainsFunc(run.Reviews, func(f apitypes.Flag) bool { return f.NodeID == card.NodeID })
		if card.Status == rules.CardNeedsReview && !flagged {
			problems = append(problems, fmt.Errorf("run %s: the card of %s needs review, and reviews do not name it", run.ID, card.NodeID))
		}
	}
	return errors.Join(problems...)
}
