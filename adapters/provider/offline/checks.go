// Package offline has checks that need no network and no vendor: they judge a value
// by its structure, its check digits, or a date. docs/offline-checks.md describes
// each of them.
//
// A value that a check does not accept fails the check; the data then has a reason,
// one stable word. A with of the wrong shape is a permanent error.
package offline

import (
	"context"
	"encoding/json"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Checks returns a provider for every check of this package, by its name. Each of
// them implements verification.Describer. They share nothing with other calls of
// Checks and may be used by several goroutines.
func Checks() map[string]verification.Provider {
	return map[string]verification.Provider{
		"offline.aadhaar":     newCheck("offline.aadhaar", aadhaarDescription(), judgeAadhaar),
		"offline.age":         newCheck("offline.age", ageDescription(), judgeAge),
		"offline.bic":         newCheck("offline.bic", bicDescription(), judgeBIC),
		"offline.card_number": newCheck("offline.card_number", cardNumberDescription(), judgeCardNumber),
		"offline.email":       newCheck("offline.email", emailDescription(), newEmailJudge()),
		"offline.expiry":      newCheck("offline.expiry", expiryDescription(), judgeExpiry),
		"offline.gstin":       newCheck("offline.gstin", gstinDescription(), judgeGSTIN),
		"offline.iban":        newCheck("offline.iban", ibanDescription(), newIBANJudge()),
		"offline.ifsc":        newCheck("offline.ifsc", ifscDescription(), judgeIFSC),
		"offline.lei":         newCheck("offline.lei", leiDescription(), judgeLEI),
		"offline.mrz":         newCheck("offline.mrz", mrzDescription(), judgeMRZ),
		"offline.pan":         newCheck("offline.pan", panDescription(), judgePAN),
		"offline.phone":       newCheck("offline.phone", phoneDescription(), judgePhone),
	}
}

// description is a verification.ProviderDescription as it is written in this
// package: With and Data list the properties of the two objects.
type description struct {
	summary  string
	required []string // keys of with
	with     string   // JSON
	data     string   // JSON, without reason; no field is in every result
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

func newCheck[W any](name string, d description, j judge[W]) *check[W] {
	with := object(d.required, d.with)
	return &check[W]{
		described: verification.ProviderDescription{
			Summary: d.summary, With: with,
			Data: object(nil, `{"reason":{"type":"string","title":"Reason of failure"},`+d.data[1:]),
		},
		shape: newShape(name, with),
		judge: j,
	}
}

// object returns the schema of an object without further properties. It panics if
// properties is not JSON.
func object(required []string, properties string) verification.Data {
	if required == nil {
		required = []string{}
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "required": required, "additionalProperties": false,
		"properties": json.RawMessage(properties),
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
