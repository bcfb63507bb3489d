// Runs: start, list, read, wait, report, cancel and redact.

package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// StartRequest is the request to start a run.
type StartRequest struct {
	// ReferenceID is your name for the person or company: 1 to 255 characters.
	ReferenceID string
	// Input is the input of the workflow. It is encoded as a JSON object; nil, or a nil map, leaves it out.
	Input any
	// RedirectURI is where the customer's browser goes after the end of the run; empty for none. It must
	// be in the tenant's allowlist.
	RedirectURI string
	// IdempotencyKey makes repetitions of the request within 24 hours return the same run: 1 to 255
	// visible ASCII characters. If it is empty, StartRun makes one for its attempts, so that they start
	// one run; a client with a single attempt needs none. Name one to repeat the call itself, for example after a crash.
	IdempotencyKey string
	// Wait is how long the host waits for the run to end or to need a person, rounded up to seconds
	// and at most 25 s. With nil, the host waits up to 2 s by default if the workflow needs its
	// customer, and otherwise not at all.
	Wait *time.Duration
}

// StartRun starts a run. The run goes on if the call is cancelled.
//
// Errors: ErrInvalid names the fields, ErrNotFound is about the workflow, ErrConflict says that the
// workflow has no version or is retired, ErrKeyReused that the key was used for another request, and
// ErrInFlight that the request with the key has no answer yet: repeat the call with the same key.
func (c *Client) StartRun(ctx context.Context, workflow verification.WorkflowID, r StartRequest) (apitypes.Run, error) {
	body := map[string]any{"reference_id": r.ReferenceID}
	input, err := json.Marshal(r.Input)
	if err != nil {
		return apitypes.Run{}, fmt.Errorf("client: startRun: encode the input: %w", err)
	}
	if string(input) != "null" { // as a nil map is encoded
		body["input"] = json.RawMessage(input)
	}
	if r.RedirectURI != "" {
		body["redirect_uri"] = r.RedirectURI
	}
	call, err := post("startRun", body, "v1", "workflows", string(workflow), "runs")
	if err != nil {
		return apitypes.Run{}, err
	}
	c.setKey(call, r.IdempotencyKey)
	if r.Wait != nil {
		seconds := (max(0, *r.Wait) + time.Second - 1) / time.Second
		call.header.Set("Prefer", "wait="+strconv.FormatInt(int64(seconds), 10))
	}
	return read[apitypes.Run](ctx, c, call)
}

// setKey sets an idempotency key: a random one if it is empty and the call may have several attempts.
func (c *Client) setKey(call call, key string) {
	if key == "" && c.opt.Attempts > 1 {
		key = rand.Text()
	}
	if key != "" {
		call.header.Set("Idempotency-Key", key)
	}
}

// RunQuery selects runs. A zero field does not limit them; all others must match.
type RunQuery struct {
	WorkflowID                  verification.WorkflowID
	Status                      rules.Status
	Decision                    rules.Decision // DecisionReview is the review queue
	ReferenceID                 string
	StartedAfter, StartedBefore time.Time // exclusive, to the microsecond
	Limit                       int       // of a page: 1 to 200; 0 means 50
	Offset                      int       // the number of runs to skip
}

func (q RunQuery) values() url.Values {
	v := pageQuery(q.Limit, q.Offset)
	for name, value := range map[string]string{
		"workflow_id": string(q.WorkflowID), "status": string(q.Status), "decision": string(q.Decision), "reference_id": q.ReferenceID,
		"started_after": timeText(q.StartedAfter), "started_before": timeText(q.StartedBefore),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ListRuns returns one page of runs, newest first, and their total. Runs that start meanwhile move
// the runs of the next page; [Client.Runs] copes with that.
func (c *Client) ListRuns(ctx context.Context, q RunQuery) (apitypes.Page[apitypes.Run], error) {
	call := get("listRuns", "v1", "runs")
	call.query = q.values()
	return read[apitypes.Page[apitypes.Run]](ctx, c, call)
}

// Runs returns all runs that match, newest first, each once, and ends with the first error. Every run
// that matches from beginning to end is among them; a run that starts meanwhile, or matches only for
// a part of the time, may be missing. Limit is the length of a page: 2 to 200, and 0 means 200.
// Offset is not used.
func (c *Client) Runs(ctx context.Context, q RunQuery) iter.Seq2[apitypes.Run, error] {
	return func(yield func(apitypes.Run, error) bool) {
		q := q
		limit := maxPage
		if q.Limit != 0 {
			limit = max(q.Limit, 2)
		}
		list[apitypes.Run, verification.RunID]{
			limit: limit,
			page: func(limit, offset int) (apitypes.Page[apitypes.Run], error) {
				q.Limit, q.Offset = limit, offset
				return c.ListRuns(ctx, q)
			},
			id: func(r apitypes.Run) verification.RunID { return r.ID },
			// The host orders by microseconds and writes seconds: runs of the same second stay in the list.
			narrow: func(last apitypes.Run) bool {
				before := last.StartedAt.Add(time.Second)
				if !q.StartedBefore.IsZero() && !before.Before(q.StartedBefore) {
					return false
				}
				q.StartedBefore = before
				return true
			},
		}.each(yield)
	}
}

// ReadRun returns a run with its checks and its decision.
func (c *Client) ReadRun(ctx context.Context, id verification.RunID) (apitypes.RunDetail, error) {
	run, _, err := c.PollRun(ctx, id, "")
	return run, err
}

// PollRun is ReadRun for a caller that has read the run before. tag is the entity tag that the
// last PollRun returned, and empty at first. If the run has not changed since, PollRun returns a zero
// RunDetail and the same tag, and costs the host little.
func (c *Client) PollRun(ctx context.Context, id verification.RunID, tag string) (apitypes.RunDetail, string, error) {
	call := get("readRun", "v1", "runs", string(id))
	if tag != "" {
		call.header = http.Header{"If-None-Match": {tag}}
	}
	got, err := c.do(ctx, call)
	if err != nil || got.status == http.StatusNotModified {
		return apitypes.RunDetail{}, tag, err
	}
	run, err := decode[apitypes.RunDetail](call, got)
	return run, got.header.Get("ETag"), err
}

// firstPoll is the wait before the second request of WaitForRun. The wait doubles as long as the run does not
// change, up to Options.PollInterval.
const firstPoll = 100 * time.Millisecond

// WaitForRun polls a run until done reports true, and returns it. [Ended] and [Resting] are such
// functions. Without a deadline of ctx it waits as long as that takes. If ctx ends, or a request fails, it returns
// the run as it was read last, and the error.
func (c *Client) WaitForRun(ctx context.Context, id verification.RunID, done func(apitypes.RunDetail) bool) (apitypes.RunDetail, error) {
	var run apitypes.RunDetail
	tag, wait := "", firstPoll
	for {
		now, newTag, err := c.PollRun(ctx, id, tag)
		switch {
		case err != nil:
			return run, err
		case newTag != tag:
			run, tag, wait = now, newTag, firstPoll
		}
		if done(run) {
			return run, nil
		}
		if err := sleep(ctx, min(wait, c.opt.PollInterval)); err != nil {
			return run, err
		}
		wait = min(2*wait, c.opt.PollInterval)
	}
}

// Ended reports whether a run has ended.
func Ended(r apitypes.RunDetail) bool { return r.Status.Terminal() }

// Resting reports whether a run has ended or waits for a person: see its ActionRequired.
func Resting(r apitypes.RunDetail) bool { return Ended(r) || r.ActionRequired != nil }

// ReadReport returns the report of a run, ended or not.
func (c *Client) ReadReport(ctx context.Context, id verification.RunID) (apitypes.Report, error) {
	call := get("readRun", "v1", "runs", string(id))
	call.query = url.Values{"view": {"report"}}
	return read[apitypes.Report](ctx, c, call)
}

// PrintReport returns the report of a run as a PDF, with nothing of a verdict. A run that has not
// ended is an ErrConflict.
func (c *Client) PrintReport(ctx context.Context, id verification.RunID) ([]byte, error) {
	got, err := c.do(ctx, get("printReport", "v1", "runs", string(id), "report.pdf"))
	return got.body, err
}

// PrintFile returns the report of a run as a PDF for the client's file: with the decision, and who
// gave it when. ErrConflict is returned for a run that has not ended and, unless allowMissing is
// set, for a report with characters that no font of the service has.
func (c *Client) PrintFile(ctx context.Context, id verification.RunID, allowMissing bool) ([]byte, error) {
	call := get("printReport", "v1", "runs", string(id), "report.pdf")
	call.query = fileQuery(allowMissing)
	got, err := c.do(ctx, call)
	return got.body, err
}

// SignReport returns the signature of what PrintReport returns, a compact JWS with detached
// content. A run that has not ended is an ErrConflict.
func (c *Client) SignReport(ctx context.Context, id verification.RunID) ([]byte, error) {
	got, err := c.do(ctx, get("signReport", "v1", "runs", string(id), "report.pdf.jws"))
	return got.body, err
}

// SignFile returns the signature of what PrintFile returns, as SignReport does.
func (c *Client) SignFile(ctx context.Context, id verification.RunID, allowMissing bool) ([]byte, error) {
	call := get("signReport", "v1", "runs", string(id), "report.pdf.jws")
	call.query = fileQuery(allowMissing)
	got, err := c.do(ctx, call)
	return got.body, err
}

func fileQuery(allowMissing bool) url.Values {
	q := url.Values{"for": {"file"}}
	if allowMissing {
		q.Set("allow_missing", "1")
	}
	return q
}

// CancelRun cancels a run. For a run that is cancelled already it does nothing; a run that ended in
// another way is an ErrConflict.
func (c *Client) CancelRun(ctx context.Context, id verification.RunID) (apitypes.Cancelled, error) {
	return read[apitypes.Cancelled](ctx, c, call{
		operation: "cancelRun", method: http.MethodPost, path: join([]string{"v1", "runs", string(id), "cancel"}),
	})
}

// RedactRun removes the personal data of a run for good, and returns what is left of it. Once that is done, it does
// nothing until something is added to the run. A run that is live, needs a verdict, is under a hold, or has a webhook
// neither delivered nor given up is an ErrConflict. The account needs the surface erase.
func (c *Client) RedactRun(ctx context.Context, id verification.RunID) (apitypes.RunDetail, error) {
	return read[apitypes.RunDetail](ctx, c, call{
		operation: "redactRun", method: http.MethodPost, path: join([]string{"v1", "runs", string(id), "redact"}),
	})
}
