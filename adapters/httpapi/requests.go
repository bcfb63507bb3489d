// The bodies of requests, and the rules that need nothing but the body.

package httpapi

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/verifyd/verifyd/verification"
)

// requestBody is the body of a request. Its validate tags hold the rules of its
// fields.
type requestBody interface{ member(name string) reader }

type startBody struct {
	ReferenceID string            `json:"reference_id" validate:"required,reference_id"`
	Input       verification.Data `json:"input"`
	RedirectURI *string           `json:"redirect_uri" validate:"omitnil,http_url"`
}

func (b *startBody) member(name string) reader {
	switch name {
	case "reference_id":
		return text(&b.ReferenceID)
	case "input":
		return data(&b.Input)
	case "redirect_uri":
		b.RedirectURI = new(string)
		return text(b.RedirectURI)
	}
	return nil
}

type webhookBody struct {
	LifecycleWebhookURL string `json:"lifecycle_webhook_url" validate:"required,http_url,webhook_url"`
}

func (b *webhookBody) member(name string) reader {
	if name == "lifecycle_webhook_url" {
		return text(&b.LifecycleWebhookURL)
	}
	return nil
}

// signalBody holds the data that a customer submits.
type signalBody struct {
	Payload verification.Data `json:"payload" validate:"required"`
}

func (b *signalBody) member(name string) reader {
	if name == "payload" {
		return data(&b.Payload)
	}
	return nil
}

// reviewBody holds a verdict.
type reviewBody struct {
	Payload *reviewPayload `json:"payload" validate:"required"`
}

type reviewPayload struct {
	Decision string `json:"decision"`
	Notes    string `json:"notes" validate:"notes"`
	nodeID   bool   // payload.node_id was sent
}

func (b *reviewBody) member(name string) reader {
	if name != "payload" {
		return nil
	}
	return func(d *decoder, path string) error {
		if d.dec.PeekKind() == '{' {
			b.Payload = &reviewPayload{}
		}
		return d.object(path, b.Payload.member)
	}
}

func (p *reviewPayload) member(name string) reader {
	switch name {
	case "decision":
		return func(d *decoder, path string) error {
			if d.dec.PeekKind() != '"' {
				return d.dec.SkipValue() // refuse has the text for an invalid decision
			}
			return text(&p.Decision)(d, path)
		}
	case "notes":
		return text(&p.Notes)
	case "node_id":
		p.nodeID = true
		return func(d *decoder, _ string) error { return d.dec.SkipValue() }
	}
	return nil
}

// refuse returns an error whose text the API fixes, if the verdict breaks such a rule.
func (p *reviewPayload) refuse() error {
	switch {
	case p == nil:
		return nil
	case p.nodeID:
		return errNodeID
	case !verification.Decision(p.Decision).Verdict():
		return errDecision
	}
	return nil
}

// body reads a request body and checks its rules. It returns the problems of its
// fields, to which the caller may add others, such as that of a header. A large
// body waits for a slot, because its decoding takes processor time.
func (a *api) body(w *response, r *http.Request, who caller, to requestBody) ([]verification.FieldError, error) {
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

// decodeBody decodes a body and checks its rules. A field has one problem: that of
// its decoding, or else that of its rules.
func (a *api) decodeBody(raw []byte, to requestBody) ([]verification.FieldError, error) {
	problems, err := decode(raw, to.member)
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
	problems, err := decode(raw, func(string) reader { return nil })
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
		"reference_id": verification.CheckReferenceID,
		"notes":        verification.CheckNotes,
		"webhook_url":  verification.CheckWebhookURL,
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
	case "required":
		return "is required"
	case "http_url":
		return "must be an absolute http(s) URL"
	}
	return "is not valid"
}
