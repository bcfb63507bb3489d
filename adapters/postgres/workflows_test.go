package postgres_test

import (
	"errors"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestMalformedIDsAreNotFound(t *testing.T) {
	s := fresh(t)
	furnish(t, s, 1)
	tenant := tenantNumber(1)
	for _, id := range []string{"", "all", "c0000000", "c0000000-0000-7000-8000-00000000000x", "%"} {
		_, workflow := s.Workflow(t.Context(), tenant, verification.WorkflowID(id))
		_, of := s.Workflow(t.Context(), verification.TenantID(id), flow)
		_, version := s.Version(t.Context(), tenant, verification.WorkflowID(id), "h")
		_, none := s.Tenant(t.Context(), verification.TenantID(id))
		_, delivery := s.Delivery(t.Context(), tenant, rules.NoticeRef{Run: verification.RunID(id)})
		for call, err := range map[string]error{
			"Workflow": workflow, "Workflow of that tenant": of, "Version": version, "Tenant": none, "Delivery": delivery,
		} {
			if !errors.Is(err, verification.ErrNotFound) {
				t.Errorf("%s(%q): %v, want not found", call, id, err)
			}
		}
	}
	for _, of := range []verification.TenantID{"", tenant} {
		queue := store.RunQuery{Workflow: "c0000000", Order: store.OldestFirst, Now: noon()}
		if p, err := s.List(t.Context(), of, queue); err != nil || p.Total != 0 {
			t.Errorf("the queue of a workflow that cannot exist: %+v, %v, want none", p, err)
		}
	}
	if _, err := s.Version(t.Context(), tenant, flow, "h\x00"); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("Version of a hash with NUL: %v, want not found", err)
	}
}
