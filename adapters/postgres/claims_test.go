// Tests of claims and appends that change one entry of the review queue at once.

package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

// causesNow are those of a review before an append and after it: the append replaces the
// first and removes the second.
func causesNow() (before, after []verification.Cause) {
	return []verification.Cause{verification.CauseSource, verification.CauseLocation}, []verification.Cause{verification.CauseReviewStep}
}

// entered appends the start of runs whose reviews have the first causes of causesNow, and
// returns an append that changes the causes to others, or ends the reviews if there are none.
func entered(t *testing.T, s *postgres.Store, after []verification.Cause, runs ...verification.RunID) (change func() error) {
	t.Helper()
	before, _ := causesNow()
	commit := func(run verification.RunID, causes []verification.Cause, f verification.Fact) verification.Commit {
		return verification.Commit{
			Events:  []verification.Event{{At: noon(), Fact: f}},
			Summary: verification.Summary{ID: run, Workflow: flow, ReferenceID: "x", StartedAt: noon()},
			Review:  &verification.Review{Run: run, Workflow: flow, ReferenceID: "x", Since: noon(), Causes: causes},
		}
	}
	var seqs []int
	var commits []verification.Commit
	for _, run := range runs {
		must(t, s.Append(t.Context(), ours, run, 0, commit(run, before, verification.Started{Workflow: flow})))
		c := commit(run, after, verification.Cancelled{})
		c.ReviewBefore = true
		if after == nil {
			c.Review = nil
		}
		seqs, commits = append(seqs, 1), append(commits, c)
	}
	return func() error {
		_, err := s.AppendTogether(ours, runs, seqs, commits)
		return err
	}
}

func TestAnAppendLocksTheFirstRowOfAReviewFirst(t *testing.T) {
	_, others := causesNow()
	alone, together := []verification.RunID{runNumber(1)}, []verification.RunID{runNumber(1), runNumber(2)}
	for name, tt := range map[string]struct {
		runs  []verification.RunID
		after []verification.Cause
	}{
		"others alone":    {alone, others},
		"others together": {together, others},
		"none alone":      {alone, nil},
		"none together":   {together, nil},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			s := openAt(t, url, postgres.Options{})
			change := entered(t, s, tt.after, tt.runs...)
			claiming := claimBegins(t, url)
			changed := make(chan error, 1)
			go func() {
				err := change()
				for try := 1; err != nil && try < 60; try++ { // an append waits for a lock at most a second
					err = change()
				}
				changed <- err
			}()
			waitsFor(t, claiming, "the append")
			_, err := claiming.Exec(t.Context(), "SELECT FROM verifyd.reviews WHERE run_id = $1 FOR UPDATE NOWAIT", string(runNumber(1)))
			if err != nil {
				t.Errorf("the append has locked another row of the review before the first: %v", err)
			}
			_, err = claiming.Exec(t.Context(),
				"UPDATE verifyd.reviews SET claimed_by = 'asha', claimed_name = 'Asha', claimed_at = $2, claim_until = $3 WHERE run_id = $1",
				string(runNumber(1)), noon(), noon().Add(time.Hour))
			must(t, err)
			must(t, claiming.Commit(t.Context()))
			must(t, <-changed)
			sameClaims(t, url, tt.after, "asha")
		})
	}
}

func TestAClaimLocksTheFirstRowOfAReviewFirst(t *testing.T) {
	claim := verification.Claim{By: "asha", Name: "Asha", At: noon(), Until: noon().Add(time.Hour)}
	for _, tt := range []struct {
		name, before string
		change       func(context.Context, *postgres.Store) error
		want         string
	}{
		{"save", "", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.SaveClaim(ctx, ours, runNumber(1), claim, false)
			return err
		}, "asha"},
		{"release", "asha", func(ctx context.Context, s *postgres.Store) error {
			return s.ReleaseClaim(ctx, ours, runNumber(1), "asha")
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := pgtest.Database(t)
			s := openAt(t, url, postgres.Options{})
			_, after := causesNow()
			entered(t, s, after, runNumber(1))
			if tt.before != "" {
				_, err := s.SaveClaim(t.Context(), ours, runNumber(1), claim, false)
				must(t, err)
			}
			appending := claimBegins(t, url)
			changed := make(chan error, 1)
			go func() { changed <- tt.change(context.WithoutCancel(t.Context()), s) }()
			waitsFor(t, appending, tt.name)
			_, err := appending.Exec(t.Context(), "SELECT FROM verifyd.reviews WHERE run_id = $1 FOR UPDATE NOWAIT", string(runNumber(1)))
			if err != nil {
				t.Errorf("the claim has locked another row of the review before the first: %v", err)
			}
			// What an append does: a cause is added, with the claim that there was.
			_, err = appending.Exec(t.Context(), `
INSERT INTO verifyd.reviews (tenant_id, run_id, n, cause, workflow_id, reference_id, since, due_at, until, shown,
    claimed_by, claimed_name, claimed_at, claim_until)
SELECT tenant_id, run_id, 3, $2, workflow_id, reference_id, since, due_at, until, shown, claimed_by, claimed_name, claimed_at, claim_until
FROM verifyd.reviews WHERE run_id = $1 AND n = 1`, string(runNumber(1)), string(verification.CauseReviewStep))
			must(t, err)
			must(t, appending.Commit(t.Context()))
			must(t, <-changed)
			before, _ := causesNow()
			sameClaims(t, url, slices.Concat(after, before), tt.want)
		})
	}
}

// claimBegins begins a transaction that has locked the first row of the review of run 1.
func claimBegins(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, pgtest.Admin(t, url)).Begin(t.Context())
	must(t, err)
	locked, err := tx.Exec(t.Context(), "SELECT FROM verifyd.reviews WHERE run_id = $1 AND n = 1 FOR UPDATE", string(runNumber(1)))
	must(t, err)
	if locked.RowsAffected() != 1 {
		t.Fatalf("%d first rows of the review, want 1", locked.RowsAffected())
	}
	return tx
}

// waitsFor waits until another transaction waits for the lock of tx.
func waitsFor(t *testing.T, tx pgx.Tx, what string) {
	t.Helper()
	eventually(t, what+" waits for the lock", func() (waits bool) {
		must(t, tx.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits))
		return waits
	})
}

// sameClaims compares the rows of run 1: one for each cause, all with one claim.
func sameClaims(t *testing.T, url string, causes []verification.Cause, by string) {
	t.Helper()
	rows, err := connect(t, pgtest.Admin(t, url)).Query(t.Context(), "SELECT cause, claimed_by FROM verifyd.reviews WHERE run_id = $1 ORDER BY cause", string(runNumber(1)))
	must(t, err)
	type row struct{ Cause, ClaimedBy string }
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	must(t, err)
	var want []row
	for _, c := range causes {
		want = append(want, row{string(c), by})
	}
	slices.SortFunc(want, func(a, b row) int { return strings.Compare(a.Cause, b.Cause) })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rows of the review (-want +got):\n%s", diff)
	}
}
