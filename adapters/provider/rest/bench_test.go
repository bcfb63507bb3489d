// Benchmarks of checks over loopback: beside a bare client, and beside a vendor that
// hangs.

package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// clients is the number of concurrent clients.
const clients = 32

func BenchmarkACheckAndABareClient(b *testing.B) {
	v := start(b)
	p := v.provider(map[string]any{"limits.concurrent": clients})
	inParallel := func(b *testing.B, call func() error) {
		b.SetParallelism((clients + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("check", func(b *testing.B) {
		inParallel(b, func() error {
			_, err := p.Check(b.Context(), request("bench"))
			return err
		})
	})
	b.Run("bare", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients}}
		defer client.CloseIdleConnections()
		inParallel(b, func() error {
			body, err := json.Marshal(map[string]any{"number": "ABCDE1234F", "for": "run person-1"})
			if err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, v.url+"/bench", bytes.NewReader(body))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+apiToken)
			r.Header.Set("Idempotency-Key", "run/pan/1")
			got, err := client.Do(r)
			if err != nil {
				return err
			}
			defer got.Body.Close()
			raw, err := io.ReadAll(got.Body)
			if err != nil {
				return err
			}
			var answer map[string]any
			return json.Unmarshal(raw, &answer)
		})
	})
}

// BenchmarkRunsBesideAVendorThatHangs measures runs of one check, from start to end, alone
// and beside 400 runs whose vendor does not respond. Its provider has the default limit of
// 16 calls at once.
func BenchmarkRunsBesideAVendorThatHangs(b *testing.B) {
	v := start(b)
	for _, hanging := range []int{0, 400} {
		b.Run(fmt.Sprintf("hanging=%d", hanging), func(b *testing.B) {
			keys, err := token.NewKeys()
			if err != nil {
				b.Fatal(err)
			}
			limits := map[string]any{"limits.timeout_seconds": 600}
			h := newHost(b, memory.New(), keys, map[string]verification.Provider{"quick": v.provider(limits), "hanging": v.provider(limits)})
			var none time.Duration
			slow, quick := h.apply("hanging", "hang"), h.apply("quick", "bench")
			for range hanging {
				if _, err := h.Start(b.Context(), tenant, slow, engine.StartRequest{ReferenceID: "x", Wait: &none}); err != nil {
					b.Fatal(err)
				}
			}
			var mu sync.Mutex
			var took []time.Duration
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				wait := time.Minute
				for pb.Next() {
					began := time.Now()
					run, err := h.Start(b.Context(), tenant, quick, engine.StartRequest{ReferenceID: "y", Wait: &wait})
					if err != nil || run.Status != rules.StatusCompleted {
						b.Errorf("run = %s, %v", run.Status, err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
			})
			b.StopTimer()
			if len(took) == 0 {
				b.FailNow()
			}
			slices.Sort(took)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("p%d-µs", p))
			}
		})
	}
}

// apply applies a workflow of one check of a scenario and returns its id.
func (h *host) apply(provider, scenario string) verification.WorkflowID {
	h.t.Helper()
	with, err := verification.NewData(map[string]any{"scenario": scenario, "number": "ABCDE1234F"})
	if err != nil {
		h.t.Fatal(err)
	}
	applied, err := h.Apply(h.t.Context(), tenant, workflow.Definition{
		Workflow: provider, Name: provider, Start: "a", Nodes: map[verification.NodeID]workflow.Node{
			"a":    {Type: workflow.NodeCheck, Provider: provider, With: with, TimeoutSeconds: 600, Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return applied.Workflow.ID
}
