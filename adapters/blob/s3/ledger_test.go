package s3_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/storetest"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestALedgerInABucketKeepsTheContract(t *testing.T) {
	b := newBucket(t)
	storetest.Ledger(t, func() verification.ErasureLedger { return b.store(t) })
}

// TestALedgerInABucketReadsEarlierEntries has objects as earlier builds named them, and one that is no entry.
func TestALedgerInABucketReadsEarlierEntries(t *testing.T) {
	b := newBucket(t)
	put := func(key string) {
		t.Helper()
		if _, err := b.backend.PutObject(bucketName, "verifyd/documents/.erasures/"+key, nil, strings.NewReader(""), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	early := verification.Erasure{Tenant: "t", Run: "early-1", Kind: verification.ErasureRedacted, At: time.Unix(1, 0).UTC(), StartedAt: time.Unix(0, 0).UTC()}
	raw, err := json.Marshal(early)
	if err != nil {
		t.Fatal(err)
	}
	put(fmt.Sprintf("%016x-%s-%s", math.MaxInt64-early.At.UnixMicro(), base64.RawURLEncoding.EncodeToString(raw), "ABCDEFGH"))
	put("ZZZ")
	late := early
	late.Ledger, late.Number, late.Run = "l", 2, "late"
	s := b.store(t)
	if err := s.NoteErasures(t.Context(), late, late); err != nil {
		t.Fatal(err)
	}
	read := func() (all []verification.Erasure) {
		if err := s.EachErasure(t.Context(), func(e verification.Erasure) bool {
			all = append(all, e)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got, want := read(), []verification.Erasure{early, {Kind: verification.ErasureUnreadable}, late}; !slices.Equal(got, want) {
		t.Errorf("the ledger has %+v, want %+v", got, want)
	}
	if err := s.RepairErasures(t.Context(), "l"); err != nil {
		t.Fatal(err)
	}
	if got, want := read(), []verification.Erasure{early, late}; !slices.Equal(got, want) {
		t.Errorf("after the repair the ledger has %+v, want %+v", got, want)
	}
	if !slices.Contains(b.keys(t), "verifyd/documents/.erasures-damaged/ZZZ") {
		t.Errorf("the object that is no entry is gone: %q", b.keys(t))
	}
}

// TestALedgerThatABucketLostIsNoticed removes the objects of the ledger, or the last one, under a store that knows their numbers.
func TestALedgerThatABucketLostIsNoticed(t *testing.T) {
	for name, kept := range map[string]int{"all": 0, "the last one": 2} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Ledger = b.store(t) })
			if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			w := k.Apply(workflow.Definition{Workflow: "instant", Name: "Instant", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}}})
			for range 2 {
				run := k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
				if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", verification.Person{Name: "Asha", Identity: "asha"}); err != nil {
					t.Fatal(err)
				}
				k.Settle()
			}
			if n, err := engine.CheckLedger(t.Context(), k.Store.Tables, b.store(t)); err != nil || n != 3 {
				t.Fatalf("the ledger has %d entries, %v; want its beginning and two redactions", n, err)
			}
			for _, key := range b.keys(t)[kept:] { // they are in the order of their numbers
				if _, err := b.backend.DeleteObject(bucketName, key); err != nil {
					t.Fatal(err)
				}
			}
			host := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { p.Store, p.Ledger, o.Passive = k.Store, b.store(t), true })
			_, err := host.Engine.ApplyErasures(t.Context(), "")
			want := fmt.Sprintf("the ledger of erasures is damaged: %d of 3 entries are missing, the first has the number %d", 3-kept, kept+1)
			if err == nil || err.Error() != want {
				t.Errorf("a host that starts: %v, want %s", err, want)
			}
		})
	}
}
