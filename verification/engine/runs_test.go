// Tests of reading and changing runs on stores that fail.

package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAListOfWrongSummariesEnds(t *testing.T) {
	k, runs := withRuns(t)
	list := runs.ListFunc
	runs.ListFunc = func(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
		page, err := list(ctx, t, q)
		for i := range page.Data { // a deadline that is not in the history
			page.Data[i].ExpiresAt = page.Data[i].StartedAt.Add(time.Second)
		}
		return page, err
	}
	d := onboarding()
	d.RunTTLSeconds = 0
	run := start(k, d)
	k.Advance(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page, err := k.Engine.Runs(ctx, enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != run.ID || page.Data[0].Status != rules.StatusExpired {
		t.Errorf("Runs = %+v, %v; want the run as its summary has it", page, err)
	}
	if lists := len(runs.ListCalls()); lists < 2 || lists > 10 {
		t.Errorf("the store is read %d times, want a few", lists)
	}
}

func TestACommandThatLosesEveryRaceIsUnavailable(t *testing.T) {
	k, runs := withRuns(t)
	run := start(k, onboarding())
	onAppend(runs, func(verification.RunID, store.Commit) error {
		return &verification.Error{Kind: verification.ErrConflict, Subject: "run"}
	})
	_, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID)
	if !errors.Is(err, verification.ErrUnavailable) || errors.Is(err, verification.ErrConflict) {
		t.Errorf("Cancel = %v, want ErrUnavailable: a conflict would say that the run is over", err)
	}
}

func TestARunThatIsPolledAgainStaysInTheList(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Pend("ticket", time.Minute), enginetest.Pend("ticket", time.Minute))
	run := start(k, chain("a"))
	k.Advance(90 * time.Second) // the second pending result adds nothing to the history
	page, err := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 10}, Workflow: run.WorkflowID,
	})
	if err != nil || len(page.Data) != 1 || page.Data[0].ReferenceID != "person-1" {
		t.Errorf("Runs = %+v, %v; want the run", page, err)
	}
}
