package storetest_test

import (
	"context"
	"iter"
	"slices"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// reading breaks the runs that Records yields.
func reading(change func(r *store.RunRecord)) breakage {
	return func(b *broken, sound stores) {
		b.RecordsFunc = func(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				for r, err := range sound.Records(ctx, kind) {
					if run, ok := r.(store.RunRecord); ok {
						change(&run)
						r = run
					}
					if !yield(r, err) {
						return
					}
				}
			}
		}
	}
}

// savingRecords breaks the records that SaveRecords saves; nil loses a record.
func savingRecords(change func(sound stores, r store.Record) store.Record) breakage {
	return func(b *broken, sound stores) {
		b.SaveRecordsFunc = func(ctx context.Context, records []store.Record) error {
			var changed []store.Record
			for _, r := range records {
				if r = change(sound, r); r != nil {
					changed = append(changed, r)
				}
			}
			return sound.SaveRecords(ctx, changed)
		}
	}
}

// savingRuns breaks the runs that SaveRecords saves.
func savingRuns(change func(r *store.RunRecord)) breakage {
	return savingRecords(func(_ stores, r store.Record) store.Record {
		if run, ok := r.(store.RunRecord); ok {
			change(&run)
			return run
		}
		return r
	})
}

// onlyNew loses records of runs that exist.
func onlyNew(sound stores, r store.Record) store.Record {
	if run, ok := r.(store.RunRecord); ok {
		if _, missing := sound.Load(context.Background(), run.Run.Tenant, run.Run.Run, 0); missing == nil {
			return nil
		}
	}
	return r
}

func copyBreaches() []breach {
	const whole, read, again = "records have everything that was saved", "a store reads what saved records have", "saving the records of a store changes nothing"
	return []breach{
		{whole, "a claim is left out", reading(func(r *store.RunRecord) { r.Claim = rules.Claim{} })},
		{whole, "keys are left out", reading(func(r *store.RunRecord) { r.Keys = nil })},
		{whole, "lists are left out", reading(func(r *store.RunRecord) { r.Screened = nil })},
		{whole, "leases are left out", reading(func(r *store.RunRecord) {
			r.Work = slices.Clone(r.Work)
			for i := range r.Work {
				r.Work[i].Leased = false
			}
		})},
		{"records are in the order of their keys", "they are in the opposite order", func(b *broken, sound stores) {
			b.RecordsFunc = func(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
				var all []store.Record
				for r, err := range sound.Records(ctx, kind) {
					if err == nil {
						all = append(all, r)
					}
				}
				slices.Reverse(all)
				return func(yield func(store.Record, error) bool) {
					for _, r := range all {
						if !yield(r, nil) {
							return
						}
					}
				}
			}
		}},
		{read, "attempts are lost", savingRuns(func(r *store.RunRecord) {
			r.Work = slices.Clone(r.Work)
			for i := range r.Work {
				r.Work[i].Attempt = 0
			}
		})},
		{read, "keys are lost", savingRuns(func(r *store.RunRecord) { r.Keys = nil })},
		{read, "claims are lost", savingRuns(func(r *store.RunRecord) { r.Claim = rules.Claim{} })},
		{read, "runs are not screened again", savingRuns(func(r *store.RunRecord) { r.Screened = nil })},
		{read, "measures are lost", savingRecords(func(_ stores, r store.Record) store.Record {
			if store.KindOf(r) == store.RecordMeasure {
				return nil
			}
			return r
		})},
		{again, "the outcome of a run is lost", savingRuns(func(r *store.RunRecord) { r.Summary.Outcome = "" })},
		{again, "the data of an end is lost", savingRuns(func(r *store.RunRecord) { r.Summary.Data = "" })},
		{"times of records have microseconds", "they have nanoseconds", listingAudit(func(*store.AuditQuery) {}, func(all []store.AuditEntry) {
			for i := range all {
				all[i].At = all[i].At.Add(999)
			}
		})},
		{"a record replaces the one with its key", "a run that exists is left as it is", savingRecords(onlyNew)},
		{"a saved run has no valid lease", "a run that exists is left as it is", savingRecords(onlyNew)},
		{"records of a run queue no other work", "it is screened again", savingRuns(func(r *store.RunRecord) {
			for _, l := range r.Screened {
				r.Work = append(r.Work, store.WorkRecord{WorkKey: store.WorkKey{Kind: store.WorkRescreen, List: l.List}, Due: r.Summary.CompletedAt})
			}
		})},
		{"an unfinished copy is remembered until it is complete", "the mark stays", func(b *broken, sound stores) {
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				if rows[0] == (store.UnfinishedCopyRecord{}) {
					return nil
				}
				return sound.Change(ctx, rows)
			}
		}},
	}
}
