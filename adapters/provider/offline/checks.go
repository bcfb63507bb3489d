// Package offline has checks that need no network and no vendor: they judge a value
// by its structure, its check digits, or a date. docs/offline-checks.md describes
// each of them.
//
// A value that a check does not accept fails the check; the data then has a reason,
// one stable word. A `with` of the wrong shape is a permanent error.
package offline

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/internal/with"
	"github.com/verifyd/verifyd/verification"
)

// checks.json has the description of each check. A field of the data is required if every
// result that passed has it. A result that failed may have only a reason.
//
//go:embed checks.json
var checksJSON []byte

// Checks returns a provider for every check of this package, by its name. Each of
// them implements verification.Describer. They share nothing with other calls of
// Checks and may be used by several goroutines.
func Checks() map[string]verification.Provider {
	all := map[string]verification.ProviderDescription{}
	if err := json.Unmarshal(checksJSON, &all); err != nil {
		panic("offline: " + err.Error())
	}
	return map[string]verification.Provider{
		"offline.aadhaar":     newCheck("offline.aadhaar", all, judgeAadhaar),
		"offline.age":         newCheck("offline.age", all, judgeAge),
		"offline.bic":         newCheck("offline.bic", all, judgeBIC),
		"offline.card_number": newCheck("offline.card_number", all, newCardNumberJudge()),
		"offline.cin":         newCheck("offline.cin", all, newCINJudge()),
		earlierRunsName:       newEarlierRuns(all),
		"offline.email":       newCheck("offline.email", all, newEmailJudge()),
		"offline.expiry":      newCheck("offline.expiry", all, judgeExpiry),
		"offline.gstin":       newCheck("offline.gstin", all, judgeGSTIN),
		"offline.iban":        newCheck("offline.iban", all, newIBANJudge()),
		"offline.ifsc":        newCheck("offline.ifsc", all, judgeIFSC),
		"offline.lei":         newCheck("offline.lei", all, judgeLEI),
		"offline.mrz":         newCheck("offline.mrz", all, newMRZJudge()),
		"offline.pan":         newCheck("offline.pan", all, judgePAN),
		"offline.phone":       newCheck("offline.phone", all, newPhoneJudge()),
		"offline.tan":         newCheck("offline.tan", all, judgeTAN),
		"offline.vat":         newCheck("offline.vat", all, newVATJudge()),
		"offline.voter_id":    newCheck("offline.voter_id", all, judgeVoterID),
	}
}

// reason is a stable word that says why a value fails a check; empty if it passes.
type reason string

// judge returns the data of a result, and the reason if the check fails. Dates are judged
// by today, a date. An error names the key of with that cannot be used.
type judge[W any] func(with W, today time.Time) (map[string]any, reason, error)

type check[W any] struct {
	described verification.ProviderDescription
	schema    with.Schema
	judge     judge[W]
}

func newCheck[W any](name string, all map[string]verification.ProviderDescription, j judge[W]) *check[W] {
	return &check[W]{all[name], with.Compile(name, all[name].With), j}
}

// Describe implements verification.Describer.
func (c *check[W]) Describe() verification.ProviderDescription { return c.described }

// Check judges the with of a check by the date on which its run started, in the zone of
// the tenant.
func (c *check[W]) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	var w W
	if err := c.schema.Read(r.With, &w); err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("load the tenant's time zone: %w", err))
	}
	data, why, err := c.judge(w, dateIn(r.StartedAt, zone))
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
