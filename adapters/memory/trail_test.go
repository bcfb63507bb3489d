package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// TestAFullTrailRefusesReadsOfItsTenantOnly fills the audit trail of one tenant.
func TestAFullTrailRefusesReadsOfItsTenantOnly(t *testing.T) {
	const ours, theirs = verification.TenantID("ours"), verification.TenantID("theirs")
	s, at := memory.New(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s.Limit(memory.Limits{Runs: 1 << 20, Answers: 2 << 20, Share: 0.25})
	n := 0
	add := func(tenant verification.TenantID, e store.AuditEntry) error {
		n++
		e.Tenant, e.At, e.ID = tenant, at, store.AuditID(at, fmt.Sprint(n))
		return s.AppendAudit(t.Context(), []store.AuditEntry{e})
	}
	read := store.AuditEntry{Action: store.AuditRunRead, Run: "run"}
	if err := add(theirs, read); err != nil {
		t.Fatal(err)
	}
	var full error
	for range 10_000 {
		if full = add(ours, read); full != nil {
			break
		}
	}
	if !errors.Is(full, verification.ErrUnavailable) || !errors.Is(full, store.ErrFull) {
		t.Fatalf("a full trail returns %v, want ErrUnavailable and ErrFull", full)
	}
	for _, u := range s.Use() {
		if want := u.Tenant == ours; u.Full != want || u.Tenant == ours && (u.Trail < 100<<10 || u.Trail > 140<<10) {
			t.Errorf("the use of %s is %+v, want an eighth of the limit for the trail that is full", u.Tenant, u)
		}
	}
	for what, e := range map[string]store.AuditEntry{
		"a verdict": {Action: store.AuditVerdictGiven, Run: "run"}, "lost reads": {Action: store.AuditReadsLost, Count: 3},
		"searches of an account": {Action: store.AuditPersonSearched, Count: 2},
	} {
		if err := add(ours, e); err != nil {
			t.Errorf("%s in a full trail: %v", what, err)
		}
	}
	if err := add(theirs, read); err != nil {
		t.Errorf("a read of another tenant: %v", err)
	}
}
