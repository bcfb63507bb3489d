// Benchmark of a check over loopback, beside a bare client.

package rest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"testing"
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
