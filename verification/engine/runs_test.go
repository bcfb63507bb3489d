// Tests of reading and changing runs on stores that are at fault.

package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// overdueList lists every run with a deadline that its history does not have.
type overdueList struct {
	verification.RunStore
	lists int
}

func (s *overdueList) List(ctx context.Context, t verification.TenantID, q verification.RunQuery) (verification.Page[verification.Summary], error) {
	s.lists++
	page, err := s.RunStore.List(ctx, t, q)
	for i := range page.Data {
		page.Data[i].ExpiresAt = page.Data[i].StartedAt.Add(time.Second)
	}
	return page, err
}

func TestAListWhoseSummariesDisagreeWithTheirHistoriesEnds(t *testing.T) {
	wrong := &overdueList{}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { wrong.RunStore, p.Runs = p.Runs, wrong })
	d := onboarding()
	d.RunTTLSeconds = 0
	run := start(k, d)
	k.Advance(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	page, err := k.Engine.Runs(ctx, enginetest.Tenant, verification.RunQuery{PageQuery: verification.PageQuery{Limit: 10}})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != run.ID || page.Data[0].Status != verification.StatusExpired {
		t.Errorf("Runs = %+v, %v; want the run as its summary has it", page, err)
	}
	if wrong.lists < 2 || wrong.lists > 10 {
		t.Errorf("the store is read %d times, want a few", wrong.lists)
	}
}

// busyRun is a store on which another host changes every run first.
type busyRun struct {
	verification.RunStore
	busy bool
}

func (s *busyRun) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	if s.busy {
		return &verification.Error{Kind: verification.ErrConflict, Subject: "run"}
	}
	return s.RunStore.Append(ctx, t, id, seq, a)
}

func TestACommandThatLosesEveryRaceIsUnavailable(t *testing.T) {
	s := &busyRun{}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { s.RunStore, p.Runs = p.Runs, s })
	run := start(k, onboarding())
	s.busy = true
	_, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID)
	if !errors.Is(err, verification.ErrUnavailable) || errors.Is(err, verification.ErrConflict) {
		t.Errorf("Cancel = %v, want ErrUnavailable: a conflict would say that the run is over", err)
	}
}
