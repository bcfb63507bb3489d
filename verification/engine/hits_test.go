// Tests of decisions on hits.

package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// obedient is a screener that leaves out cleared hits, and keeps those of its last call.
type obedient struct {
	*screener
	mu      sync.Mutex
	cleared []verification.ClearedHit
}

func (o *obedient) leaveOut(r verification.CheckRequest, found *verification.ScreeningResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cleared = r.Cleared
	var hits []verification.Hit
	for _, h := range found.Hits {
		known := false
		for _, c := range r.Cleared {
			known = known || c == verification.ClearedHit{List: found.List, Entry: h.ID, Digest: h.Digest}
		}
		if !known {
			hits = append(hits, h)
		}
	}
	found.Hits = hits
}

func (o *obedient) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	result, err := o.screener.Check(ctx, r)
	o.leaveOut(r, result.Screening)
	return result, err
}

func (o *obedient) Rescreen(ctx context.Context, list string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	result, err := o.screener.Rescreen(ctx, list, r)
	o.leaveOut(r, &result)
	return result, err
}

func (o *obedient) screens(p *engine.Ports, opt *engine.Options) {
	o.screener.screens(p, opt)
	p.Providers["screen"] = o
}

// settle decides the hit of an entry of "sanctions" at the node a.
func settle(k *enginetest.Kit, run verification.RunID, entry, identity string, m verification.HitMatch) error {
	return k.Engine.DecideHit(context.Background(), enginetest.Tenant, run, verification.DecideHit{
		Node: "a", List: "sanctions", Entry: entry, Match: m, By: identity, Identity: identity,
	})
}

func TestAClearedHitDoesNotComeBackOnTheNextVisit(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1", "e-2")
	k := enginetest.New(t, o.screens)
	d := screened()
	d.Nodes["look"] = verification.Node{Type: verification.NodeReview, Label: "Look", Next: "done", OnReject: "a"}
	d = with(d, "a", func(n *verification.Node) { n.Next = "look" })
	run := start(k, d)
	if err := settle(k, run.ID, "e-1", "asha", verification.MatchOther); err != nil {
		t.Fatal(err)
	}
	k.GiveVerdict(run.ID, verification.DecisionReject)
	k.Settle()
	if diff := cmp.Diff([]verification.ClearedHit{{List: "sanctions", Entry: "e-1"}}, o.cleared); diff != "" {
		t.Errorf("cleared in the second request (-want +got):\n%s", diff)
	}
	record, err := k.Engine.RunRecord(t.Context(), enginetest.Tenant, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if hits := record.Report.Cards[0].Hits(); len(hits) != 1 || hits[0].ID != "e-2" || hits[0].Decision.Match != "" {
		t.Errorf("the hits of the second visit are %+v, want e-2 alone, not decided", hits)
	}
}

func TestAClearedHitComesBackOnlyIfItsEntryHasChanged(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	k := enginetest.New(t, o.screens)
	run := start(k, screened())
	o.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	if err := settle(k, run.ID, "e-1", "asha", verification.MatchOther); err != nil {
		t.Fatal(err)
	}
	k.GiveVerdict(run.ID, verification.DecisionApprove)
	for _, step := range []struct {
		version, digest string
		want            int
	}{{"v3", "", 1}, {"v4", "changed", 1}} {
		o.change(step.version, "e-1")
		o.screener.hits[0].Digest = step.digest
		k.Advance(2 * time.Minute)
		if n := hitsOf(t, k.Store, run.ID); n != step.want {
			t.Errorf("after %s there are %d events of hits, want %d", step.version, n, step.want)
		}
		if len(o.cleared) != 1 {
			t.Errorf("at %s %v were cleared, want the hit", step.version, o.cleared)
		}
	}
}

func TestTheClaimOfAnotherReviewerGuardsTheHits(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	k := enginetest.New(t, o.screens)
	run := start(k, screened())
	o.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{By: "asha", Name: "asha"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		identity string
		want     error
	}{{"ravi", verification.ErrClaimed}, {"asha", nil}, {"", nil}} {
		if err := settle(k, run.ID, "e-1", c.identity, verification.MatchUnsure); !errors.Is(err, c.want) {
			t.Errorf("a decision of %q = %v, want %v", c.identity, err, c.want)
		}
	}
	claim, err := k.Engine.Review(t.Context(), enginetest.Tenant, run.ID)
	if err != nil || claim.Claim.Name != "asha" {
		t.Errorf("after the decisions the claim is %+v, %v; want that of asha", claim.Claim, err)
	}
	if err := settle(k, "0191f3c0-0000-7000-8000-0000000000ff", "e-1", "asha", verification.MatchOther); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a hit of no run = %v, want ErrNotFound", err)
	}
}

func TestAClearedHitDoesNotComeBackForThePerson(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1", "e-2")
	k := enginetest.New(t, o.screens, searching)
	d := with(screened(), "a", func(n *verification.Node) { n.Next = "look" })
	d.Subject = &verification.SubjectFields{Number: "input.pan"}
	d.InputSchema = verification.Data(`{"type":"object","properties":{"pan":{"type":"string"}}}`)
	d.Nodes["look"] = verification.Node{Type: verification.NodeReview, Next: "done"}
	w := k.Apply(d).ID
	begin := func(reference, pan string) verification.RunID {
		return k.Start(w, engine.StartRequest{ReferenceID: reference, Input: verification.Data(`{"pan":"` + pan + `"}`)}).ID
	}
	first := begin("person-1", "ABCPR1234F")
	for entry, match := range map[string]verification.HitMatch{"e-1": verification.MatchOther, "e-2": verification.MatchUnsure} {
		if err := settle(k, first, entry, "asha", match); err != nil {
			t.Fatal(err)
		}
	}
	cleared := []verification.ClearedHit{{List: "sanctions", Entry: "e-1"}}
	for _, tt := range []struct {
		name, reference, pan string
		want                 []verification.ClearedHit
	}{
		{"another person of that name", "person-2", "ABCPR9999F", nil},
		{"the same reference", "person-1", "ABCPR9999F", cleared},
		{"the same number", "person-3", "ABCPR1234F", cleared},
	} {
		begin(tt.reference, tt.pan)
		if diff := cmp.Diff(tt.want, o.cleared); diff != "" {
			t.Errorf("%s: cleared (-want +got):\n%s", tt.name, diff)
		}
	}
	again := begin("person-1", "ABCPR1234F")
	if err := settle(k, again, "e-1", "ravi", verification.MatchSame); err == nil {
		t.Error("a hit that was left out can be decided")
	}
	if err := settle(k, again, "e-2", "ravi", verification.MatchOther); err != nil {
		t.Fatal(err)
	}
	begin("person-1", "ABCPR1234F") // asha was not sure of e-2
	if diff := cmp.Diff(cleared, o.cleared); diff != "" {
		t.Errorf("a hit that one reviewer keeps (-want +got):\n%s", diff)
	}
}

func TestHitsComeBackIfADecisionCannotBeRead(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1", "e-2")
	k, runs := withRuns(t, o.screens, searching)
	d := with(screened(), "a", func(n *verification.Node) { n.Next = "look" })
	d.Nodes["look"] = verification.Node{Type: verification.NodeReview, Next: "done"}
	keeping, clearing := start(k, d), start(k, d) // the newest run is read first
	for run, match := range map[verification.RunID]verification.HitMatch{clearing.ID: verification.MatchOther, keeping.ID: verification.MatchSame} {
		if err := settle(k, run, "e-1", "asha", match); err != nil {
			t.Fatal(err)
		}
	}
	load := runs.LoadFunc
	for _, broken := range []verification.RunID{clearing.ID, keeping.ID} {
		runs.LoadFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
			if id == broken {
				return nil, verification.ErrUnavailable
			}
			return load(ctx, t, id, after)
		}
		start(k, d)
		if len(o.cleared) > 0 {
			t.Errorf("%v are cleared although not all decisions could be read", o.cleared)
		}
	}
}
