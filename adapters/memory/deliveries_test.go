package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func deliveryStates() []rules.DeliveryState {
	return []rules.DeliveryState{
		rules.DeliveryPending, rules.DeliveryDelivered, rules.DeliveryFailed,
	}
}

func TestDeliveriesEqualASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, kept := memory.New(), map[verification.RunID]rules.Delivery{}
		t.Repeat(map[string]func(*rapid.T){
			"save": func(t *rapid.T) {
				d := rules.Delivery{
					Run:    verification.RunID(fmt.Sprint(rapid.IntRange(1, 8).Draw(t, "run"))),
					State:  rapid.SampledFrom(deliveryStates()).Draw(t, "state"),
					LastAt: benchStart().Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "last")) * time.Microsecond),
				}
				if err := s.SaveDelivery(t.Context(), tenant, d); err != nil {
					t.Fatal(err)
				}
				kept[d.Run] = d
			},
			"": func(t *rapid.T) {
				for _, state := range append(deliveryStates(), "") {
					q := store.PageQuery{Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Offset: rapid.IntRange(0, 9).Draw(t, "offset")}
					got, err := s.Deliveries(t.Context(), tenant, state, q)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(ledgered(kept, state, q), got); diff != "" {
						t.Fatalf("Deliveries(%q, %+v) (-want +got):\n%s", state, q, diff)
					}
				}
			},
		})
	})
}

// ledgered is a page of deliveries, from a scan of all.
func ledgered(kept map[verification.RunID]rules.Delivery, state rules.DeliveryState, q store.PageQuery) store.Page[rules.Delivery] {
	p := store.Page[rules.Delivery]{PageQuery: q}
	for _, d := range kept {
		if state == "" || d.State == state {
			p.Data = append(p.Data, d)
		}
	}
	slices.SortFunc(p.Data, func(a, b rules.Delivery) int {
		if rules.NewerDelivery(a, b) {
			return -1
		}
		return 1
	})
	p.Total = len(p.Data)
	p.Data = p.Data[min(q.Offset, p.Total):min(q.Offset+q.Limit, p.Total)]
	if len(p.Data) == 0 {
		p.Data = nil
	}
	return p
}
