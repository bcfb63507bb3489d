package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestTheRunsInLanesAreBounded(t *testing.T) {
	l := newLanes()
	kept, leaves := 0, []func(){}
	for _, tenant := range []verification.TenantID{"a", "b", "c"} {
		for _, id := range []verification.RunID{"1", "2", "3"} {
			ref := verification.RunRef{Tenant: tenant, Run: id}
			run := rules.Fold(id, []rules.Event{{Fact: rules.Started{Input: make(verification.Data, tenantLanes/2-1000)}}})
			if l.keep(ref, run); l.run(ref).Seq > 0 {
				t.Error("a run that nobody uses is kept")
			}
			leaves = append(leaves, l.stay(ref), l.stay(ref))
			for range 2 { // it is counted once
				l.keep(ref, run)
			}
			if l.run(ref).Seq > 0 {
				kept++
			}
			if l.bytes > maxLanes || l.tenants[tenant] > tenantLanes {
				t.Errorf("lanes have %d bytes, and those of a tenant %d", l.bytes, l.tenants[tenant])
			}
		}
	}
	if kept != 4 {
		t.Errorf("%d runs are kept, want 2 of each of two tenants", kept)
	}
	first := verification.RunRef{Tenant: "a", Run: "1"}
	if l.drop(first); l.run(first).Seq > 0 {
		t.Error("a run that was dropped is kept")
	}
	for _, leave := range leaves {
		leave()
	}
	if l.bytes != 0 || len(l.tenants) != 0 || len(l.of) != 0 {
		t.Errorf("lanes that nobody uses have %d bytes: %v %v", l.bytes, l.tenants, l.of)
	}
}

func TestCommandsOfALaneTakeTurns(t *testing.T) {
	l, ref := newLanes(), verification.RunRef{Tenant: "t", Run: "r"}
	leave, err := l.enter(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.enter(ended, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("a second command in the lane of a run: %v, want it to wait until its context ends", err)
	}
	other, err := l.enter(t.Context(), verification.RunRef{Tenant: "t", Run: "s"})
	if err != nil {
		t.Errorf("a command on another run: %v", err)
	}
	other()
	leave()
	again, err := l.enter(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(l.of) != 0 {
		t.Error("a lane that nobody uses is kept")
	}
}
