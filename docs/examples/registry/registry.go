// Package registry is a provider for verifyd: it asks a company registry over HTTP.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Registry implements verification.Provider and verification.Describer.
type Registry struct {
	URL  string // such as "https://registry.example/companies/"
	HTTP *http.Client
}

// Check passes if the company with.number is active.
func (p Registry) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	number, _ := r.With["number"].(string)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+url.PathEscape(number), nil)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	req.Header.Set("Idempotency-Key", r.IdempotencyKey) // a dispatch may be repeated
	response, err := p.HTTP.Do(req)
	if err != nil {
		return verification.CheckResult{}, err // transient: the node's retry decides
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return verification.CheckResult{Outcome: verification.OutcomeFailed, Data: map[string]any{"active": false}}, nil
	case response.StatusCode >= 400 && response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests:
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("the registry answered %s", response.Status))
	case response.StatusCode != http.StatusOK:
		return verification.CheckResult{}, fmt.Errorf("the registry answered %s", response.Status)
	}
	var company struct {
		Name   string `json:"name"`
		Active *bool  `json:"active"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&company); err != nil || company.Active == nil {
		return verification.CheckResult{}, errors.New("the answer of the registry is no company")
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"active": *company.Active, "name": company.Name}}
	if !*company.Active {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// Describe says what with and the data contain, so that workflows are checked against it.
func (Registry) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{
		Summary: "Whether a company is active in the registry.",
		With:    verification.Data(`{"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}}`),
		Data:    verification.Data(`{"type": "object", "required": ["active"], "x-always": true, "properties": {"active": {"type": "boolean"}, "name": {"type": "string"}}}`),
	}
}
