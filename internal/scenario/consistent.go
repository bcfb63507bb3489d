// The consistency of all reads of a run.

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// document is any JSON object, its fields undecoded.
type document map[string]json.RawMessage

func (d document) text(name string) string {
	var s string
	_ = json.Unmarshal(d[name], &s) // null and absent are empty
	return s
}

// Consistent reads every run of Acme in every way and returns an error if the reads
// break a rule of the contract:
//
//   - every run has exactly one of the six statuses in lists;
//   - decision=review returns exactly the runs whose decision is review, and the
//     same for approve and reject;
//   - a list and a single read agree, except for the fields that a list omits;
//   - reviews and the decision fields are the same on a run and its report;
//   - a card that needs review is a step in reviews;
//   - lists are newest first, and total is the number of runs that match.
func (c *Client) Consistent(ctx context.Context) error {
	all, err := c.list(ctx, "")
	if err != nil {
		return err
	}
	byStatus, err := c.filtered(ctx, "status", "in_progress", "abandoned", "completed", "failed", "expired", "cancelled")
	if err != nil {
		return err
	}
	byDecision, err := c.filtered(ctx, "decision", "review", "approve", "reject")
	if err != nil {
		return err
	}
	var problems []error
	for i, listed := range all {
		id := listed.text("id")
		if i > 0 && all[i-1].text("started_at") < listed.text("started_at") {
			problems = append(problems, fmt.Errorf("run %s is listed after an older one", id))
		}
		run, err := c.document(ctx, "/v1/runs/"+id)
		if err != nil {
			return err
		}
		report, err := c.document(ctx, "/v1/runs/"+id+"?view=report")
		if err != nil {
			return err
		}
		if got, want := byStatus[id], []string{run.text("status")}; !slices.Equal(got, want) {
			problems = append(problems, fmt.Errorf("run %s reads %v and is found by status %v", id, want, got))
		}
		if got, want := byDecision[id], run.text("decision"); fmt.Sprint(got) != fmt.Sprint(nonEmpty(want)) {
			problems = append(problems, fmt.Errorf("run %s reads %q and is found by decision %v", id, want, got))
		}
		problems = append(problems, sameRun(id, listed, run), sameReport(id, run, report))
	}
	return errors.Join(problems...)
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// list reads a list page by page.
func (c *Client) list(ctx context.Context, filter string) ([]document, error) {
	var all []document
	for {
		page, err := c.document(ctx, fmt.Sprintf("/v1/runs?limit=3&offset=%d%s", len(all), filter))
		if err != nil {
			return nil, err
		}
		var data []document
		var total int
		if err := errors.Join(json.Unmarshal(page["data"], &data), json.Unmarshal(page["total"], &total)); err != nil {
			return nil, err
		}
		all = append(all, data...)
		if len(all) >= total || len(data) == 0 {
			if len(all) != total {
				return nil, fmt.Errorf("the list %q has total %d and %d runs", filter, total, len(all))
			}
			return all, nil
		}
	}
}

// filtered returns, for each run, the values of a filter that match it.
func (c *Client) filtered(ctx context.Context, filter string, values ...string) (map[string][]string, error) {
	found := map[string][]string{}
	for _, v := range values {
		runs, err := c.list(ctx, "&"+filter+"="+v)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			found[r.text("id")] = append(found[r.text("id")], v)
		}
	}
	return found, nil
}

func (c *Client) document(ctx context.Context, path string) (document, error) {
	got, err := c.send(ctx, http.MethodGet, path, http.Header{"Client-Id": {"acme"}, "X-Api-Key": {APIKey}}, "")
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(got.Body, &d); err != nil || got.Status != http.StatusOK {
		return nil, fmt.Errorf("GET %s = %d %s", path, got.Status, got.Body)
	}
	return d, nil
}

func sameRun(id string, listed, run document) error {
	want := maps.Clone(run)
	for _, name := range []string{"checks", "decision", "notes", "resolved_at", "reviews", "proposal"} {
		delete(want, name)
	}
	if !maps.EqualFunc(listed, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return fmt.Errorf("run %s is listed as %s and reads %s", id, show(listed), show(run))
	}
	return nil
}

func sameReport(id string, run, report document) error {
	for _, name := range []string{"error", "reviews", "decision", "notes", "resolved_at", "proposal"} {
		if !bytes.Equal(run[name], report[name]) {
			return fmt.Errorf("run %s: %s is %s, and %s on its report", id, name, run[name], report[name])
		}
	}
	var head document
	var cards, reviews []document
	if err := json.Unmarshal(report["run"], &head); err != nil {
		return err
	}
	for _, name := range []string{"id", "reference_id", "status", "started_at", "completed_at"} {
		if !bytes.Equal(run[name], head[name]) {
			return fmt.Errorf("run %s: %s is %s, and %s on its report", id, name, run[name], head[name])
		}
	}
	if err := json.Unmarshal(report["cards"], &cards); err != nil {
		return err
	}
	if raw := run["reviews"]; raw != nil {
		if err := json.Unmarshal(raw, &reviews); err != nil {
			return err
		}
	}
	for _, card := range cards {
		flagged := slices.ContainsFunc(reviews, func(r document) bool { return r.text("node_id") == card.text("node_id") })
		if card.text("status") == "needs_review" && !flagged {
			return fmt.Errorf("run %s: the card of %s needs review, and reviews do not name it", id, card.text("node_id"))
		}
	}
	return nil
}
