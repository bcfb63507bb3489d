// Tests of how appends are put into groups.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func TestGroupsAreBoundedAndTenantsTakeTurns(t *testing.T) {
	w := newWriters(nil, 1)
	add := func(tenant verification.TenantID, n, size int) {
		w.queue = append(w.queue, &queuedAppend{pendingAppend: &pendingAppend{
			ref:    verification.RunRef{Tenant: tenant, Run: verification.RunID(fmt.Sprint(n))},
			events: strings.Repeat("x", size),
		}})
	}
	for n := range 32 {
		add("a", n, 1<<20)
	}
	add("b", 1, 1000)
	add("b", 1, 1000) // of the same run: in another group
	group := w.gather()
	bytes, ofB := 0, 0
	for _, p := range group {
		bytes += len(p.events)
		if p.ref.Tenant == "b" {
			ofB++
		}
	}
	if ofB != 1 || bytes > maxGroupBytes {
		t.Errorf("the first group has %d appends of the tenant that came last and %d bytes, want 1 and at most %d", ofB, bytes, maxGroupBytes)
	}
	groups, seen := 1, len(group)
	for ; len(w.queue) > 0 && groups < 100; groups++ {
		seen += len(w.gather())
	}
	if seen != 34 {
		t.Errorf("%d appends are in %d groups, want 34", seen, groups)
	}
	add("a", 1, 3*maxGroupBytes)
	if group := w.gather(); len(group) != 1 {
		t.Errorf("an append that is larger than a group is in a group of %d, want 1", len(group))
	}
	for n := range 1000 {
		add("a", n, 10)
	}
	if group := w.gather(); len(group) != maxGroup {
		t.Errorf("a group has %d appends, want %d", len(group), maxGroup)
	}
}

func TestACallerThatGivesUpLeavesNoAppend(t *testing.T) {
	w := newWriters(nil, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result := make(chan error, 1)
	go func() { result <- w.append(ctx, &pendingAppend{}) }()
	select {
	case err := <-result:
		if group := w.gather(); !errors.Is(err, context.Canceled) || len(group) > 0 {
			t.Errorf("append = %v, and then a group has %d appends; want cancelled, and none", err, len(group))
		}
	case <-time.After(10 * time.Second):
		t.Error("the caller still waits")
	}
}
