// The bodies of requests, and the rules that need nothing but the body.

package httpapi

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

type startBody struct {
	ReferenceID string            `json:"reference_id" validate:"required,reference_id"`
	Input       verification.Data `json:"input"`
	RedirectURI *string           `json:"redirect_uri" validate:"omitnil,http_url"`
}

type webhookBody struct {
	LifecycleWebhookURL string `json:"lifecycle_webhook_url" validate:"required,http_url"`
}

// signalBody holds the data that a customer submits.
type signalBody struct {
	Payload verification.Data `json:"payload" validate:"required"`
}

// reviewBody holds a verdict.
type reviewBody struct {
	Payload *reviewPayload `json:"payload" validate:"required"`
}

// resubmitBody holds what a customer is asked again.
type resubmitBody struct {
	Payload *resubmitPayload `json:"payload" validate:"required"`
}

type resubmitPayload struct {
	Step           string   `json:"step"` // empty for the last form that has the fields
	Reasons        []string `json:"reasons" validate:"required,min=1"`
	Fields         []string `json:"fields"`
	NoteToCustomer string   `json:"note_to_customer"`
}

type reviewPayload struct {
	Decision jsontext.Value `json:"decision"` // any value: refuse has the text for an invalid one
	Notes    string         `json:"notes" validate:"notes"`
	NodeID   jsontext.Value `json:"node_id"` // not accepted
}

// verdict returns the decision, or an empty one if it is not a string.
func (p *reviewPayload) verdict() rules.Decision {
	text, err := jsontext.AppendUnquote(nil, p.Decision)
	if err != nil {
		return rules.DecisionNone
	}
	return rules.Decision(text)
}

// refuse returns an error whose text the API fixes, if the verdict breaks such a rule.
func (p *reviewPayload) refuse() error {
	switch {
	case p == nil:
		return nil
	case p.NodeID != nil:
		return errNodeID
	case !p.verdict().Verdict():
		return errDecision
	}
	return nil
}

// body reads a request body and checks its rules. It returns the problems of its
// fields, to which the caller may add others, such as a problem of a header. A large
// body waits for a slot, because its decoding takes processor time.
func (a *api) body(w *response, r *http.Request, who caller, to any) ([]verification.FieldError, error) {
	raw, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(raw) > largeBody {
		release, err := a.decoding.Acquire(r.Context(), string(who.tenant))
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return a.decodeBody(raw, to)
}

// decodeBody decodes a body and checks its rules. Each field reports
// at most one problem: its decoding error, or else the rule that it breaks.
func (a *api) decodeBody(raw []byte, to any) ([]verification.FieldError, error) {
	problems, err := decode(raw, to)
	if err != nil {
		return nil, err
	}
	var invalid validator.ValidationErrors
	_ = errors.As(a.validate.Struct(to), &invalid) // a struct pointer has no other error
	for _, v := range invalid {
		_, field, _ := strings.Cut(v.Namespace(), ".")
		if !slices.ContainsFunc(problems, func(p verification.FieldError) bool { return p.Name == field }) {
			problems = append(problems, verification.FieldError{Name: field, Message: messageOf(v)})
		}
	}
	return problems, nil
}

// noBody returns an error unless the body is empty or an empty object.
func (a *api) noBody(w *response, r *http.Request) error {
	raw, err := readBody(w, r)
	if err != nil || len(raw) == 0 {
		return err
	}
	problems, err := decode(raw, &struct{}{})
	if err == nil && len(problems) > 0 {
		err = badFields(problems)
	}
	return err
}

// newValidator returns a validator that names fields as JSON does and has the rules
// of the domain.
func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	for tag, check := range domainRules() {
		err := v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return check(fl.Field().String()) == nil })
		if err != nil {
			panic(err) // the tag is empty or the function is nil
		}
	}
	return v
}

// domainRules returns the rules of the domain that need nothing but a field, by tag.
func domainRules() map[string]func(string) error {
	return map[string]func(string) error{
		"reference_id": rules.ValidateReferenceID,
		"notes":        rules.ValidateNotes,
	}
}

// messageOf describes a broken rule.
func messageOf(v validator.FieldError) string {
	if check, ok := domainRules()[v.Tag()]; ok {
		var e *verification.Error
		if value, _ := v.Value().(string); errors.As(check(value), &e) && len(e.Fields) > 0 {
			return e.Fields[0].Message
		}
	}
	switch v.Tag() {
	case "required", "min": // of a list
		return "is required"
	case "http_url":
		return "must be an absolute http(s) URL"
	}
	return "is not valid"
}
