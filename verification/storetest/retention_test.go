package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// starting breaks StartedRuns.
func starting(
	change func(w *verification.WorkflowID, after *store.StartedPosition, before *time.Time), then func([]summary) []summary,
) breakage {
	return func(b *broken, sound stores) {
		b.StartedRunsFunc = func(
			ctx context.Context, t tenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
		) ([]summary, error) {
			change(&w, &after, &before)
			all, err := sound.StartedRuns(ctx, t, w, after, before, limit)
			return then(all), err
		}
	}
}

// forgetting breaks Forget.
func forgetting(change func(before *store.Ages, limit *int)) breakage {
	return func(b *broken, sound stores) {
		b.ForgetFunc = func(ctx context.Context, before store.Ages, limit int) (int, error) {
			change(&before, &limit)
			return sound.Forget(ctx, before, limit)
		}
	}
}

func retentionBreaches() []breach {
	same := func(all []summary) []summary { return all }
	none := func(*verification.WorkflowID, *store.StartedPosition, *time.Time) {}
	return []breach{
		{"started runs come in the order of their start", "the latest comes first", starting(none, func(all []summary) []summary {
			slices.Reverse(all)
			return all
		})},
		{"started runs continue after a position", "they begin again", starting(func(_ *verification.WorkflowID, after *store.StartedPosition, _ *time.Time) {
			*after = store.StartedPosition{}
		}, same)},
		{"started runs continue after a position", "runs with the same start are passed over", starting(func(_ *verification.WorkflowID, after *store.StartedPosition, _ *time.Time) {
			if after.Run != "" {
				after.Run = "ffffffff-ffff-7fff-bfff-ffffffffffff"
			}
		}, same)},
		{"started runs began before the time", "the time is included", starting(func(_ *verification.WorkflowID, _ *store.StartedPosition, before *time.Time) {
			*before = before.Add(time.Microsecond)
		}, same)},
		{"started runs are of one workflow of one tenant", "they are of any workflow", func(b *broken, sound stores) {
			b.StartedRunsFunc = func(
				ctx context.Context, t tenantID, _ verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
			) (all []summary, err error) {
				for _, w := range []verification.WorkflowID{"c0000000-0000-7000-8000-000000000001", "c0000000-0000-7000-8000-000000000002"} {
					var some []summary
					some, err = sound.StartedRuns(ctx, t, w, after, before, limit)
					all = append(all, some...)
				}
				return all, err
			}
		}},
		{"a workflow without a mark has the mark of the beginning", "workflows share a mark", func(b *broken, sound stores) {
			var last memo[bool, store.Record]
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				last.set(true, rows[0])
				return sound.Change(ctx, rows)
			}
			b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				if m, ok := last.get(true); ok {
					return m, nil
				}
				return sound.Row(ctx, kind, key)
			}
		}},
		{"a mark is returned as it was saved last", "the first one stays", func(b *broken, sound stores) {
			var saved memo[string, bool]
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				if is, _ := saved.get(store.KeyOf(rows[0])); is {
					return nil
				}
				saved.set(store.KeyOf(rows[0]), true)
				return sound.Change(ctx, rows)
			}
		}},
		{"old deliveries are forgotten", "they stay", forgetting(func(before *store.Ages, _ *int) { before.Deliveries = time.Time{} })},
		{"old deliveries are forgotten", "young ones, too", forgetting(func(before *store.Ages, _ *int) {
			if !before.Deliveries.IsZero() {
				before.Deliveries = before.Deliveries.Add(time.Hour)
			}
		})},
		{"old measures are forgotten", "they stay", forgetting(func(before *store.Ages, _ *int) { before.Measures = time.Time{} })},
		{"old measures are forgotten", "young ones, too", forgetting(func(before *store.Ages, _ *int) {
			if !before.Measures.IsZero() {
				before.Measures = before.Measures.AddDate(0, 0, 1)
			}
		})},
		{"old idempotency keys are forgotten", "they stay", forgetting(func(before *store.Ages, _ *int) { before.Keys = time.Time{} })},
		{"old idempotency keys are forgotten", "young ones, too", forgetting(func(before *store.Ages, _ *int) { before.Keys = before.Keys.Add(time.Hour) })},
		{"old entries of the audit trail are forgotten", "they stay", forgetting(func(before *store.Ages, _ *int) { before.Audit = time.Time{} })},
		{"old entries of the audit trail are forgotten", "young ones, too", forgetting(func(before *store.Ages, _ *int) {
			if !before.Audit.IsZero() {
				before.Audit = before.Audit.Add(time.Hour)
			}
		})},
		{"old reads in the audit trail are forgotten", "they stay", forgetting(func(before *store.Ages, _ *int) { before.Reads = time.Time{} })},
		{"old reads in the audit trail are forgotten", "everything else, too", forgetting(func(before *store.Ages, _ *int) { before.Audit = before.Reads })},
		{"a deletion keeps the measures of its run", "they go with it", func(b *broken, sound stores) {
			var deleted memo[tenantID, bool]
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if c.Delete {
					deleted.set(t, true)
				}
				return sound.Append(ctx, t, id, seq, c)
			}
			b.MeasuresFunc = func(ctx context.Context, t tenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
				if is, _ := deleted.get(t); is {
					return nil, nil
				}
				return sound.Measures(ctx, t, q)
			}
		}},
		{"what is forgotten at once is bounded", "it is not", forgetting(func(_ *store.Ages, limit *int) { *limit = 1000 })},
	}
}
