// The body of a notice: the run as the API's lists show it.

package webhook

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
)

type eventJSON struct {
	Type      string  `json:"type"`
	Timestamp moment  `json:"timestamp"`
	Data      runJSON `json:"data"`
}

// runJSON has the members of the API's list shape in their order; a test
// compares the two byte for byte.
type runJSON struct {
	ID             verification.RunID      `json:"id"`
	WorkflowID     verification.WorkflowID `json:"workflow_id"`
	ReferenceID    string                  `json:"reference_id"`
	Status         verification.Status     `json:"status"`
	StartedAt      moment                  `json:"started_at"`
	CompletedAt    moment                  `json:"completed_at"`
	ActionRequired *struct{}               `json:"action_required"` // nobody has to act on a run that is over
	Error          *errorJSON              `json:"error"`
}

type errorJSON struct {
	Code    verification.ErrorCode `json:"code"`
	Check   string                 `json:"check,omitzero"`
	Message string                 `json:"message"`
}

// moment is a time in whole seconds.
type moment time.Time

// MarshalJSONTo writes the time.
func (m moment) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(time.Time(m).UTC().Format("2006-01-02T15:04:05Z")))
}

// bodyOf writes what a client is told of a run that is over.
func bodyOf(v verification.RunView) ([]byte, error) {
	if !v.Status.Terminal() {
		return nil, fmt.Errorf("run %s is %s, and not over", v.ID, v.Status)
	}
	event := eventJSON{
		Type: "run." + string(v.Status), Timestamp: moment(v.CompletedAt),
		Data: runJSON{
			ID: v.ID, WorkflowID: v.WorkflowID, ReferenceID: v.ReferenceID, Status: v.Status,
			StartedAt: moment(v.StartedAt), CompletedAt: moment(v.CompletedAt),
		},
	}
	if v.Error != nil {
		event.Data.Error = &errorJSON{Code: v.Error.Code, Check: v.Error.Check, Message: v.Error.Message}
	}
	return json.Marshal(event, jsontext.AllowInvalidUTF8(true))
}
