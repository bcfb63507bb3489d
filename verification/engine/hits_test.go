// Tests of decisions on hits.

package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
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
		if known {
			found.Cleared = append(found.Cleared, h)
			continue
		}
		hits = append(hits, h)
	}
	found.Hits = hits
}

func (o *obedient) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	result, err := o.screener.Check(ctx, r)
	o.leaveOut(r, result.Screening)
	result.Data = map[string]any{"analysis_ok": len(result.Screening.Hits) == 0}
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
func settle(k *enginetest.Kit, run verification.RunID, entry, identity string, m rules.HitMatch) error {
	return k.Engine.DecideHit(context.Background(), enginetest.Tenant, run, rules.DecideHit{
		Node: "a", List: "sanctions", Entry: entry, Match: m, By: identity, Identity: identity,
	})
}

func TestAClearedHitComesBackOnlyIfItsEntryHasChanged(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	k := enginetest.New(t, o.screens)
	run := start(k, screened())
	o.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	if err := settle(k, run.ID, "e-1", "asha", rules.MatchOther); err != nil {
		t.Fatal(err)
	}
	k.GiveVerdict(run.ID, rules.DecisionApprove)
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
	}{{"ravi", rules.ErrClaimed}, {"asha", nil}, {"", nil}} {
		if err := settle(k, run.ID, "e-1", c.identity, rules.MatchUnsure); !errors.Is(err, c.want) {
			t.Errorf("a decision of %q = %v, want %v", c.identity, err, c.want)
		}
	}
	claim, err := k.Engine.Review(t.Context(), enginetest.Tenant, run.ID)
	if err != nil || claim.Claim.Name != "asha" {
		t.Errorf("after the decisions the claim is %+v, %v; want that of asha", claim.Claim, err)
	}
	if err := settle(k, "0191f3c0-0000-7000-8000-0000000000ff", "e-1", "asha", rules.MatchOther); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a hit of no run = %v, want ErrNotFound", err)
	}
}
