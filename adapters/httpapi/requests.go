// Every JSON shape that the API reads, and the rules that a body alone can break.

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

type startBody struct {
	ReferenceID string            `json:"reference_id" validate:"required,reference_id"`
	Input       verification.Data `json:"input"`
	RedirectURI *string           `json:"redirect_uri" validate:"omitnil,http_url"`
}

func (b *startBody) member(d *decoder, name, at string) error {
	switch name {
	case "reference_id":
		return d.text(at, &b.ReferenceID)
	case "input":
		return d.data(at, &b.Input)
	case "redirect_uri":
		b.RedirectURI = new(string)
		return d.text(at, b.RedirectURI)
	}
	return d.unknown(at)
}

type webhookBody struct {
	LifecycleWebhookURL string `json:"lifecycle_webhook_url" validate:"required,http_url,webhook_url"`
}

func (b *webhookBody) member(d *decoder, name, at string) error {
	if name == "lifecycle_webhook_url" {
		return d.text(at, &b.LifecycleWebhookURL)
	}
	return d.unknown(at)
}

// signalBody carries a customer's answer.
type signalBody struct {
	Payload verification.Data `json:"payload" validate:"required"`
}

func (b *signalBody) member(d *decoder, name, at string) error {
	if name == "payload" {
		return d.data(at, &b.Payload)
	}
	return d.unknown(at)
}

// reviewBody carries a verdict.
type reviewBody struct {
	Payload *reviewPayload `json:"payload" validate:"required"`
}

type reviewPayload struct {
	Decision string `json:"decision"`
	Notes    string `json:"notes" validate:"notes"`
	nodeID   bool   // payload.node_id was sent
}

func (b *reviewBody) member(d *decoder, name, at string) error {
	if name != "payload" {
		return d.unknown(at)
	}
	if d.dec.PeekKind() == '{' {
		b.Payload = &reviewPayload{}
	}
	return d.object(at, b.Payload.member(d))
}

func (p *reviewPayload) member(d *decoder) func(name, at string) error {
	return func(name, at string) error {
		switch name {
		case "decision":
			if d.dec.PeekKind() != '"' {
				return d.dec.SkipValue() // the words for a wrong decision are fixed
			}
			return d.text(at, &p.Decision)
		case "notes":
			return d.text(at, &p.Notes)
		case "node_id":
			p.nodeID = true
			return d.dec.SkipValue()
		}
		return d.unknown(at)
	}
}

// refuse answers a verdict that breaks a rule with fixed words.
func (p *reviewPayload) refuse() error {
	switch {
	case p.nodeID:
		return errNodeID
	case !verification.Decision(p.Decision).Verdict():
		return errDecision
	}
	return nil
}

// body decodes a request body into a shape and checks its rules. The faults
// are those of fields; more of them, such as of headers, may be added. A large
// body waits for a slot: decoding it takes a processor for some time.
func (a *api) body(w *response, r *http.Request, who caller, to any, member func(d *decoder, name, at string) error) ([]verification.FieldError, error) {
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
	faults, err := decode(raw, member)
	if err != nil {
		return nil, err
	}
	return a.rules(to, faults), nil
}

// noBody refuses a body where none belongs; an empty object will do.
func (a *api) noBody(w *response, r *http.Request) error {
	raw, err := readBody(w, r)
	if err != nil || len(raw) == 0 {
		return err
	}
	faults, err := decode(raw, func(d *decoder, _, at string) error { return d.unknown(at) })
	if err == nil && len(faults) > 0 {
		err = badFields(faults)
	}
	return err
}

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	for tag, check := range domainRules() {
		err := v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return check(fl.Field().String()) == nil })
		if err != nil {
			panic(err) // only an empty tag or no function
		}
	}
	return v
}

// domainRules returns the rules of the domain that a body alone can break, by tag.
func domainRules() map[string]func(string) error {
	return map[string]func(string) error{
		"reference_id": verification.CheckReferenceID,
		"notes":        verification.CheckNotes,
		"webhook_url":  verification.CheckWebhookURL,
	}
}

// rules adds the faults of a decoded body to those that its decoding found. A
// field that has one keeps it.
func (a *api) rules(body any, faults []verification.FieldError) []verification.FieldError {
	var broken validator.ValidationErrors
	if !errors.As(a.validate.Struct(body), &broken) {
		return faults
	}
	for _, b := range broken {
		_, field, _ := strings.Cut(b.Namespace(), ".")
		known := slices.ContainsFunc(faults, func(f verification.FieldError) bool { return f.Name == field })
		if !known {
			faults = append(faults, verification.FieldError{Name: field, Message: plain(b)})
		}
	}
	return faults
}

// plain returns the message of a broken rule.
func plain(b validator.FieldError) string {
	if check, ok := domainRules()[b.Tag()]; ok {
		var e *verification.Error
		if value, _ := b.Value().(string); errors.As(check(value), &e) && len(e.Fields) > 0 {
			return e.Fields[0].Message
		}
	}
	switch b.Tag() {
	case "required":
		return "is required"
	case "http_url":
		return "must be an absolute http(s) URL"
	}
	return "is not valid"
}
