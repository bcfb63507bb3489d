// Test of a host that is killed between the call of a vendor and its answer.

package soak_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

// vendorWorkflow is a workflow of one check.
const vendorWorkflow = `
        start: registry
        nodes:
          registry: {type: check, provider: registry, timeout_seconds: 60, with: {hold: 0}, next: done}
          done: {type: end}`

// orders is a vendor that takes an order for each idempotency key and leaves the first
// request without an answer.
type orders struct {
	mu     sync.Mutex
	keys   []string      // of the requests
	called chan struct{} // gets one value
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	o.mu.Lock()
	key, first := r.Header.Get("Idempotency-Key"), len(o.keys) == 0
	o.keys = append(o.keys, key)
	order := slices.Index(o.keys, key) + 1
	o.mu.Unlock()
	if first {
		o.called <- struct{}{}
		<-r.Context().Done() // until the host is dead
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"result":"VALID","order":%d}`, order)
}

func TestAVendorIsCalledAgainWithTheSameKeyAfterAKill(t *testing.T) {
	t.Parallel()
	vendor := &orders{called: make(chan struct{}, 1)}
	s := newRegistrySite(t, "vendor", vendorWorkflow, vendor)
	first, second := s.serve(t, "api,worker"), s.serve(t, "api,worker")
	for range 2 { // which lack the vendor, and may take the run of the dead host first
		s.serve(t, "api,worker", "VERIFYD_BOOTSTRAP=")
	}
	r := start(t, first, workflowID("f"), "person-1", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	select {
	case <-vendor.called:
	case <-ctx.Done():
		t.Fatal("the vendor was not called")
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := completed(ctx, t, second, r.ID)
	vendor.mu.Lock()
	keys := slices.Clone(vendor.keys)
	vendor.mu.Unlock()
	if want := string(r.ID) + "/registry/1"; !slices.Equal(keys, []string{want, want}) {
		t.Errorf("the vendor was called with the keys %q, want %s twice", keys, want)
	}
	if decided(ended) != rules.DecisionNone {
		t.Errorf("the decision is %s, want none: a call that is repeated after a crash flags nothing", decided(ended))
	}
	all, err := readHistories(t.Context(), s.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	h := all[string(r.ID)]
	report(t, h.problems())
	step, _ := h.fold().Step("registry")
	if step.Dispatches != 1 || step.Recovered || string(step.Data) != `{"order":1}` {
		t.Errorf("the step is %+v, want one dispatch with the first order", step)
	}
}
