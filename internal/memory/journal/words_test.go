// Test of a folder whose runs are found by search words of an earlier form.

package journal_test

import (
	"os"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/store"
)

// earlierKey is the search key of the host that wrote testdata/earlier-words, before ı, yeh and kaf were folded. It has
// runs of Yağız Ilgın, IŞIL IRMAK and محمد علی.
const earlierKey = "JLQNNZ3IR4AJKKJ3PKA4VU65AHAY72ADPUAMGPRJ25LZM4Z76M5Q"

func TestAFolderOfEarlierWordsIsKeyedAnew(t *testing.T) {
	const tenant verification.TenantID = "0191f3c0-0000-7000-8000-00000000000c"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/earlier-words")); err != nil {
		t.Fatal(err)
	}
	host := func(f func(find func(string) int, retain func())) {
		t.Helper()
		s, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, s)
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { p.Store, o.SearchKey = s, []byte(earlierKey) })
		k.Advance(500 * 24 * time.Hour)
		f(func(text string) int {
			keys := k.Engine.SearchKeys(tenant, facts.ParseSearch(text))
			p, err := s.List(t.Context(), tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Keys: keys, Now: k.Clock.Now()})
			if err != nil {
				t.Fatal(err)
			}
			return p.Total
		}, func() {
			if _, err := k.Engine.Retain(t.Context()); err != nil || k.Engine.UnkeyedWorkflows() != 0 {
				t.Fatalf("%v, %d workflows are left; want none", err, k.Engine.UnkeyedWorkflows())
			}
		})
		if err := k.Engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	always, later := []string{"Yağız Ilgın", "IŞIL IRMAK", "ışıl ırmak", "محمد علی"}, []string{"YAĞIZ ILGIN", "محمد علي", "محمد على"}
	host(func(find func(string) int, retain func()) {
		for _, text := range always {
			if n := find(text); n != 1 {
				t.Errorf("%q finds %d runs of before, want 1", text, n)
			}
		}
		for _, text := range later {
			if n := find(text); n != 0 {
				t.Errorf("%q finds %d runs before their keys are made anew: the test shows nothing", text, n)
			}
		}
		retain()
	})
	host(func(find func(string) int, _ func()) {
		for _, text := range append(always, later...) {
			if n := find(text); n != 1 {
				t.Errorf("%q finds %d runs after a restart, want 1", text, n)
			}
		}
	})
}
