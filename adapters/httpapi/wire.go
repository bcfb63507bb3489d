// Every JSON shape that the API writes, its fields in their order.

package httpapi

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

type welcomeJSON struct {
	Service string `json:"service"`
	OpenAPI string `json:"openapi"`
}

type shortErrorJSON struct {
	Error string `json:"error"`
	Code  string `json:"code,omitzero"`
}

type fullErrorJSON struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Code    int    `json:"code"`
	Details any    `json:"details,omitzero"` // []detailJSON or a sentence
}

type detailJSON struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

type pageJSON[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

type workflowJSON struct {
	ID                    verification.WorkflowID `json:"id"`
	Name                  string                  `json:"name"`
	Description           string                  `json:"description,omitzero"`
	Published             bool                    `json:"published"`
	RunTTLSeconds         int64                   `json:"run_ttl_seconds"`
	AbandonTimeoutSeconds int64                   `json:"abandon_timeout_seconds"`
	LifecycleWebhookURL   string                  `json:"lifecycle_webhook_url,omitzero"`
	CreatedAt             moment                  `json:"created_at"`
}

type workflowDetailJSON struct {
	workflowJSON
	Steps []stepJSON `json:"steps"`
}

type stepJSON struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

type runJSON struct {
	ID             verification.RunID      `json:"id"`
	WorkflowID     verification.WorkflowID `json:"workflow_id"`
	ReferenceID    string                  `json:"reference_id"`
	Status         verification.Status     `json:"status"`
	StartedAt      moment                  `json:"started_at"`
	CompletedAt    moment                  `json:"completed_at"`
	ActionRequired *actionJSON             `json:"action_required"`
	Error          *runErrorJSON           `json:"error"`
}

type runDetailJSON struct {
	runJSON
	Checks     []checkJSON `json:"checks,omitempty"`
	Decision   decision    `json:"decision"`
	Notes      string      `json:"notes,omitzero"`
	ResolvedAt moment      `json:"resolved_at"`
	Reviews    []flagJSON  `json:"reviews,omitempty"`
}

type actionJSON struct {
	Type       verification.ActionType `json:"type"`
	SignalName string                  `json:"signal_name"`
	URL        string                  `json:"url,omitzero"`
}

type runErrorJSON struct {
	Code    verification.ErrorCode `json:"code"`
	Check   string                 `json:"check,omitzero"`
	Message string                 `json:"message"`
}

type checkJSON struct {
	Key    string                   `json:"key"`
	Label  string                   `json:"label"`
	Status verification.CheckStatus `json:"status"`
	Data   jsontext.Value           `json:"data,omitzero"`
}

type flagJSON struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Reason string              `json:"reason"`
}

type cancelledJSON struct {
	ID     verification.RunID  `json:"id"`
	Status verification.Status `json:"status"`
}

type deliveryJSON struct {
	OK       bool                  `json:"ok"`
	Result   string                `json:"result"`
	Decision verification.Decision `json:"decision,omitzero"`
}

// moment is a time in whole seconds; null when it is zero.
type moment time.Time

// IsZero is for omitzero.
func (m moment) IsZero() bool { return time.Time(m).IsZero() }

// MarshalJSONTo writes the time, or null.
func (m moment) MarshalJSONTo(enc *jsontext.Encoder) error {
	if m.IsZero() {
		return enc.WriteToken(jsontext.Null)
	}
	var text [len(`"2006-01-02T15:04:05Z"`) + 4]byte // the year of a damaged time may be longer
	return enc.WriteValue(time.Time(m).UTC().AppendFormat(text[:0], `"2006-01-02T15:04:05Z"`))
}

// decision is null when nothing needs a human.
type decision verification.Decision

// MarshalJSONTo writes the decision, or null.
func (d decision) MarshalJSONTo(enc *jsontext.Encoder) error {
	if d == "" {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteToken(jsontext.String(string(d)))
}

// encoder writes the shapes. Recorded data goes out as it came in, whatever
// the source was careless about.
type encoder struct{ options json.Options }

func newEncoder() encoder {
	return encoder{json.JoinOptions(
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
	)}
}

// bytes encodes a body, which ends with a line break: a terminal shows it on a
// line of its own.
func (e encoder) bytes(v any) ([]byte, error) {
	body, err := json.Marshal(v, e.options)
	return append(body, '\n'), err
}

// write answers with a shape.
func (a *api) write(w *response, status int, v any) error {
	body, err := a.encode.bytes(v)
	if err != nil {
		return err
	}
	writeBody(w, status, "application/json", body)
	return nil
}

// writeBody answers with bytes. A client that has gone cannot be told.
func writeBody(w *response, status int, contentType string, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func pageOf[From, To any](p verification.Page[From], shape func(From) To) pageJSON[To] {
	page := pageJSON[To]{Data: make([]To, len(p.Data)), Total: p.Total, Limit: p.Limit, Offset: p.Offset}
	for i, v := range p.Data {
		page.Data[i] = shape(v)
	}
	return page
}

func workflowOf(w verification.Workflow) workflowJSON {
	return workflowJSON{
		ID: w.ID, Name: w.Name, Description: w.Description, Published: w.Published != "",
		RunTTLSeconds: w.RunTTLSeconds, AbandonTimeoutSeconds: w.AbandonTimeoutSeconds,
		LifecycleWebhookURL: w.LifecycleWebhookURL, CreatedAt: moment(w.CreatedAt),
	}
}

func workflowDetailOf(d engine.WorkflowDetail) workflowDetailJSON {
	return workflowDetailJSON{workflowOf(d.Workflow), shapes(d.Steps, func(s verification.WorkflowStep) stepJSON {
		return stepJSON{Key: s.Key, Label: s.Label}
	})}
}

func runOf(v verification.RunView) runJSON {
	r := runJSON{
		ID: v.ID, WorkflowID: v.WorkflowID, ReferenceID: v.ReferenceID, Status: v.Status,
		StartedAt: moment(v.StartedAt), CompletedAt: moment(v.CompletedAt), Error: runErrorOf(v.Error),
	}
	if v.Action != nil {
		r.ActionRequired = &actionJSON{Type: v.Action.Type, SignalName: v.Action.SignalName, URL: v.Action.URL}
	}
	return r
}

func runDetailOf(d verification.RunDetail) runDetailJSON {
	return runDetailJSON{
		runJSON: runOf(d.RunView),
		Checks: shapes(d.Checks, func(c verification.Check) checkJSON {
			return checkJSON{Key: c.Key, Label: c.Label, Status: c.Status, Data: dataOf(c.Data)}
		}),
		Decision: decision(d.Decision), Notes: d.Notes, ResolvedAt: moment(d.ResolvedAt), Reviews: flagsOf(d.Reviews),
	}
}

func runErrorOf(e *verification.RunError) *runErrorJSON {
	if e == nil {
		return nil
	}
	return &runErrorJSON{Code: e.Code, Check: e.Check, Message: e.Message}
}

func flagsOf(flags []verification.ReviewFlag) []flagJSON {
	return shapes(flags, func(f verification.ReviewFlag) flagJSON {
		return flagJSON{NodeID: f.NodeID, Label: f.Label, Reason: f.Reason}
	})
}

// dataOf is nil for no data, so that the member is left out.
func dataOf(d verification.Data) jsontext.Value {
	if len(bytes.TrimSpace(d)) == 0 {
		return nil
	}
	return jsontext.Value(d)
}

func shapes[From, To any](from []From, shape func(From) To) []To {
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = shape(v)
	}
	return to
}
