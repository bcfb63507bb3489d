// Package offline has checks that need no network and no vendor: they judge a value
// by its structure, its check digits, or a date. docs/offline-checks.md describes
// each of them.
//
// A value that a check does not accept fails the check; the data then has a reason,
// one stable word. A with of the wrong shape is a permanent error.
package offline

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// checks.json has the description of each check.
//
//go:embed checks.json
var checksJSON []byte

// Checks returns a provider for every check of this package, by its name. Each of
// them implements verification.Describer. They share nothing with other calls of
// Checks and may be used by several goroutines.
func Checks() map[string]verification.Provider {
	all := descriptions{}
	if err := json.Unmarshal(checksJSON, &all); err != nil {
		panic("offline: " + err.Error())
	}
	return map[string]verification.Provider{
		"offline.aadhaar":     newCheck("offline.aadhaar", all, judgeAadhaar),
		"offline.age":         newCheck("offline.age", all, judgeAge),
		"offline.bic":         newCheck("offline.bic", all, judgeBIC),
		"offline.card_number": newCheck("offline.card_number", all, judgeCardNumber),
		"offline.email":       newCheck("offline.email", all, newEmailJudge()),
		"offline.expiry":      newCheck("offline.expiry", all, judgeExpiry),
		"offline.gstin":       newCheck("offline.gstin", all, judgeGSTIN),
		"offline.iban":        newCheck("offline.iban", all, newIBANJudge()),
		"offline.ifsc":        newCheck("offline.ifsc", all, judgeIFSC),
		"offline.lei":         newCheck("offline.lei", all, judgeLEI),
		"offline.mrz":         newCheck("offline.mrz", all, judgeMRZ),
		"offline.pan":         newCheck("offline.pan", all, judgePAN),
		"offline.phone":       newCheck("offline.phone", all, judgePhone),
	}
}

// descriptions has the entries of checks.json, by the names of the checks. With and
// Data list the properties of the two objects: With has the Required ones, and no field
// of Data is in every result.
type descriptions map[string]struct {
	Summary    string
	Required   []string
	With, Data json.RawMessage
}

// reason is a stable word that says why a value fails a check; empty if it passes.
type reason string

// judge returns the data of a with, and why it fails. now is the time by which dates
// are judged. An error says which key of with cannot be used.
type judge[W any] func(with W, now time.Time) (map[string]any, reason, error)

// check is one check. W is its with.
type check[W any] struct {
	described verification.ProviderDescription
	shape     shape
	judge     judge[W]
}

func newCheck[W any](name string, all descriptions, j judge[W]) *check[W] {
	d := all[name]
	with := object(d.Required, d.With)
	data := append([]byte(`{"reason":{"type":"string","title":"Reason of failure"},`), d.Data[1:]...)
	return &check[W]{
		described: verification.ProviderDescription{Summary: d.Summary, With: with, Data: object([]string{}, data)},
		shape:     newShape(name, with),
		judge:     j,
	}
}

// object returns the schema of an object without further properties.
func object(required []string, properties json.RawMessage) verification.Data {
	raw, err := json.Marshal(map[string]any{
		"type": "object", "required": required, "additionalProperties": false, "properties": properties,
	})
	if err != nil {
		panic("offline: " + err.Error())
	}
	return raw
}

// Describe implements verification.Describer.
func (c *check[W]) Describe() verification.ProviderDescription { return c.described }

// Check judges the with of a check by the time at which its run started.
func (c *check[W]) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	var with W
	if err := c.shape.read(r.With, &with); err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	data, why, err := c.judge(with, r.StartedAt.UTC())
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: data}
	if why != "" {
		result.Outcome = verification.OutcomeFailed
		if result.Data == nil {
			result.Data = map[string]any{}
		}
		result.Data["reason"] = string(why)
	}
	return result, nil
}
