// Signals: verdicts, data of customers and documents.

package client

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Signal is what a run waits for.
type Signal struct {
	// Name is the ActionRequired.SignalName of the run.
	Name string
	// Payload is encoded as a JSON object.
	Payload any
	// IdempotencyKey makes repetitions of the signal within 24 hours have no effect: 1 to 255 visible
	// ASCII characters. If it is empty, DeliverSignal makes one for its attempts.
	IdempotencyKey string
}

// DeliverSignal delivers a signal to a run. The result says what it did.
//
// Errors: ErrInvalid names the fields, ErrNotFound is about the run, ErrNotOpen says that the run does
// not wait for this signal, ErrConflict that this sender must not decide the run now, and ErrKeyReused
// and ErrInFlight are as with StartRun.
func (c *Client) DeliverSignal(ctx context.Context, id verification.RunID, s Signal) (apitypes.SignalResult, error) {
	call, err := post("deliverSignal", map[string]any{"payload": s.Payload}, "v1", "signals", string(id), s.Name)
	if err != nil {
		return apitypes.SignalResult{}, err
	}
	call.credentials = reviewer
	c.setKey(call, s.IdempotencyKey)
	return read[apitypes.SignalResult](ctx, c, call)
}

// Verdict is a reviewer's decision on a run.
type Verdict struct {
	Decision       rules.Decision // DecisionApprove or DecisionReject
	Notes          string         // at most 10,000 characters
	IdempotencyKey string         // as of a Signal
}

// GiveVerdict decides a run that waits for a review or has ended. A later verdict replaces an earlier one.
// If the workflow has four_eyes, the first verdict is a proposal: see SignalResult.Result. The errors
// are the same as for DeliverSignal.
func (c *Client) GiveVerdict(ctx context.Context, id verification.RunID, v Verdict) (apitypes.SignalResult, error) {
	payload := struct {
		Decision rules.Decision `json:"decision"`
		Notes    string         `json:"notes,omitempty"`
	}{v.Decision, v.Notes}
	return c.DeliverSignal(ctx, id, Signal{Name: workflow.ReviewSignal, Payload: payload, IdempotencyKey: v.IdempotencyKey})
}

// AskAgain is what a customer is asked again.
type AskAgain struct {
	Step           verification.NodeID `json:"step,omitempty"` // empty for the last form that has all Fields
	Reasons        []string            `json:"reasons"`        // codes, at least one
	Fields         []string            `json:"fields,omitempty"`
	Note           string              `json:"note_to_customer,omitempty"` // at most 1,000 characters
	IdempotencyKey string              `json:"-"`                          // as of a Signal
}

// AskAgain sends a run that waits for a review back to its customer, under the same link. ErrNotOpen says that it does not wait for
// one, and ErrConflict that the customer was asked as often as the workflow allows. The other errors are those of DeliverSignal.
func (c *Client) AskAgain(ctx context.Context, id verification.RunID, a AskAgain) (apitypes.SignalResult, error) {
	return c.DeliverSignal(ctx, id, Signal{Name: workflow.ResubmitSignal, Payload: a, IdempotencyKey: a.IdempotencyKey})
}

// ReadStep reads the step of a run that is open for the customer, with its texts in a language as
// far as they have it; an empty language is the default one of the workflow. The answer is
// delivered with DeliverSignal and the signal name of the step. ErrNotOpen says that no step is open
// for the customer.
func (c *Client) ReadStep(ctx context.Context, run verification.RunID, language string) (apitypes.Step, error) {
	call := get("readStep", "v1", "runs", string(run), "step")
	if language != "" {
		call.query = url.Values{"lang": {language}}
	}
	return read[apitypes.Step](ctx, c, call)
}

// UploadDocument uploads a file for a field of the step that a run waits for, at most 10 MiB. The payload of the
// signal then names it: {"bill": {"document_id": "..."}}. The host recognises the type of the file by its
// content. The same file again is the same document.
//
// Errors: ErrInvalid says why the file is not accepted, ErrNotFound is about the run, and ErrConflict
// says that the run does not wait for a file of this field.
func (c *Client) UploadDocument(ctx context.Context, id verification.RunID, field string, content []byte) (apitypes.Document, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, field)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return apitypes.Document{}, err
	}
	return read[apitypes.Document](ctx, c, call{
		operation: "uploadDocument", method: http.MethodPost, path: join([]string{"v1", "runs", string(id), "documents"}),
		header: http.Header{"Content-Type": {form.FormDataContentType()}}, body: body.Bytes(),
	})
}

// File is the content of a document.
type File struct {
	MediaType string // such as image/jpeg
	Content   []byte
}

// ReadDocument returns a document that the customer's answers name: the document_id in the data of a step.
func (c *Client) ReadDocument(ctx context.Context, id verification.RunID, document string) (File, error) {
	got, err := c.do(ctx, get("readDocument", "v1", "runs", string(id), "documents", document))
	return File{MediaType: got.header.Get("Content-Type"), Content: got.body}, err
}
