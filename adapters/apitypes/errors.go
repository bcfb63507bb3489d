// Errors.

package apitypes

import (
	"bytes"
	"encoding/json"
)

// ShortError is the short body of an error, such as the one for wrong credentials.
// docs/api.md, "Error bodies", lists the errors that have it.
type ShortError struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // for programs that handle the error
}

// FullError is the body of an error that is not a ShortError.
type FullError struct {
	Error   string `json:"error"` // reason phrase of the status
	Message string `json:"message"`
	Code    int    `json:"code"`              // the status
	Reason  string `json:"reason,omitempty"`  // for programs that handle the error, such as run_over
	Details any    `json:"details,omitempty"` // []FieldError, a string, or nil
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// UnmarshalJSON implements json.Unmarshaler. A list of details becomes a []FieldError.
func (e *FullError) UnmarshalJSON(raw []byte) error {
	type plain FullError // without this method
	var details json.RawMessage
	p := plain{Details: &details}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	*e = FullError(p)
	e.Details = nil
	switch {
	case bytes.HasPrefix(details, []byte("[")):
		var fields []FieldError
		err := json.Unmarshal(details, &fields)
		e.Details = fields
		return err
	case len(details) > 0:
		return json.Unmarshal(details, &e.Details)
	}
	return nil
}
