// Package storecopy copies a store into another one, and verifies the copy.
package storecopy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Options are the options of Copy.
type Options struct {
	// Source names the source, also in the target while the copy is unfinished: only a copy of
	// the same source is continued. It is not empty.
	Source string
	// Now is the time of the copy. Leases and holds end then at the latest, and idempotency keys
	// that are older than store.IdempotencyKeyTTL are left out.
	Now time.Time
	// Also is called when all records are copied and equal, before the target is complete; nil is
	// not called.
	Also func(ctx context.Context) error
	// Runs is the number of runs in the source, as far as it is known, for Progress.
	Runs int
	// Report is called now and then, and at the end of each kind; nil is not called.
	Report func(Progress)
}

// Progress is how far a copy is.
type Progress struct {
	Kind    store.RecordKind
	Records int  // of the kind so far
	Total   int  // of the kind; 0 if it is not known
	Target  bool // the records are read in the target, to verify it
	Done    bool // there are no more of the kind
}

// Sum is what records add up to.
type Sum struct {
	Count  int
	Digest string // SHA-256 of their digests, in hexadecimal digits
}

// Row compares the records of one kind.
type Row struct {
	Kind           store.RecordKind
	Source, Target Sum
	// Difference says which record differs first; empty if the sums are equal.
	Difference string
}

const (
	// A batch is saved in one call, and maxBatches are saved at the same time.
	maxBatch, maxBatchBytes, maxBatches = 250, 1 << 20, 4
	// reportEvery is how many records are read between two reports.
	reportEvery = 1000
)

// Target is a store that is filled from another one. It has a row that says so.
type Target interface {
	store.CopyStore
	store.RowStore
}

func tablesOf(t Target) store.Tables { return store.Tables{RowStore: t} }

// Copy copies all records that the target does not have yet, and compares all records of
// both. The source is not changed. If a copy is interrupted, the next one continues it. While the
// rows have a difference, the target stays marked as unfinished. Copy changes nothing and
// returns ErrConflict if the target has a part of another copy, or if it has records and is no copy
// of this source.
func Copy(ctx context.Context, from store.CopyStore, to Target, o Options) (rows []Row, err error) {
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	complete, err := o.begin(ctx, to)
	if err != nil {
		return nil, err
	}
	for _, kind := range store.RecordKinds() {
		r := Row{Kind: kind}
		if complete {
			r.Source, err = o.sum(ctx, from, Progress{Kind: kind})
		} else {
			r.Source, err = o.copyKind(ctx, from, to, kind)
		}
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", kind, err)
		}
		rows = append(rows, r)
	}
	for i := range rows {
		r := &rows[i]
		if r.Target, err = o.sum(ctx, to, Progress{Kind: r.Kind, Total: r.Source.Count, Target: true}); err == nil && r.Target != r.Source {
			r.Difference, err = o.difference(ctx, from, to, r.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", r.Kind, err)
		}
	}
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Difference != "" }); i >= 0 {
		if complete {
			return nil, verification.Conflict("target", "it has data, and is no copy of the source: "+string(rows[i].Kind)+": "+rows[i].Difference)
		}
		return rows, nil
	}
	if o.Also != nil {
		if err := o.Also(ctx); err != nil {
			return rows, err
		}
	}
	return rows, tablesOf(to).SetUnfinishedCopy(ctx, "")
}

// begin marks the target. It must be empty or marked with the same source. Otherwise it may only
// be a complete copy, whose last call may have failed after it was done.
func (o Options) begin(ctx context.Context, to Target) (complete bool, err error) {
	source, err := tablesOf(to).UnfinishedCopy(ctx)
	switch {
	case err != nil || source == o.Source:
		return false, err
	case source != "":
		return false, verification.Conflict("target", "it has a part of a copy of "+source+", and not of "+o.Source+": finish that copy, or use an empty target")
	}
	for _, kind := range store.RecordKinds() {
		for _, err := range to.Records(ctx, kind) {
			return err == nil, err
		}
	}
	return false, tablesOf(to).SetUnfinishedCopy(ctx, o.Source)
}

// nameOf returns a key as people read it.
func nameOf(key string) string { return strings.ReplaceAll(key, store.KeySeparator, " ") }

// entry is a record with its digest.
type entry struct {
	store.Record
	key    string
	digest digest
	size   int // in bytes, about
}

// entries yields the records of a kind, without leases.
func (o Options) entries(ctx context.Context, s store.CopyStore, kind store.RecordKind) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		last := ""
		for r, err := range s.Records(ctx, kind) {
			if err != nil {
				yield(entry{}, err)
				return
			}
			r, kept := o.unleased(r)
			if !kept {
				continue
			}
			e := entry{Record: r, key: store.KeyOf(r)}
			e.digest, e.size, err = digestOf(r)
			if err == nil && last >= e.key {
				err = errors.New("its keys are not in order after " + nameOf(last))
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", nameOf(e.key), err)
			}
			if last = e.key; !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// unleased returns a record as the target keeps it, and whether it does.
func (o Options) unleased(r store.Record) (store.Record, bool) {
	switch r := r.(type) {
	case store.RunRecord:
		r.Work = slices.Clone(r.Work)
		for i, w := range r.Work {
			if w.Leased && w.Due.After(o.Now) {
				r.Work[i].Due = o.Now
			}
		}
		return r, true
	case store.PassRecord:
		if r.Pass.HeldUntil.After(o.Now) {
			r.Pass.HeldUntil = o.Now
		}
		return r, true
	case store.IdempotencyKeyRecord:
		return r, o.Now.Sub(r.Request.At) < store.IdempotencyKeyTTL
	}
	return r, true
}

// copyKind copies the records of a kind that the target does not have, and returns the sum
// of those of the source.
func (o Options) copyKind(ctx context.Context, from, to store.CopyStore, kind store.RecordKind) (Sum, error) {
	saves, ctx := errgroup.WithContext(ctx)
	saves.SetLimit(maxBatches)
	var batch []store.Record
	size := 0
	flush := func() {
		if records := batch; len(records) > 0 {
			saves.Go(func() error { return to.SaveRecords(ctx, records) })
		}
		batch, size = nil, 0
	}
	p := Progress{Kind: kind}
	if kind == store.RecordRun {
		p.Total = o.Runs
	}
	a := o.newAdder(p)
	next, stop := iter.Pull2(o.entries(ctx, to, kind))
	defer stop()
	err := merge(o.entries(ctx, from, kind), next, func(source, target *entry) error {
		switch {
		case source == nil:
			return verification.Conflict("target", "the source has no "+nameOf(target.key)+": has the target been used since?")
		case target == nil || source.digest != target.digest:
			batch = append(batch, source.Record)
			if size += source.size; size >= maxBatchBytes || len(batch) >= maxBatch {
				flush()
			}
		}
		a.add(*source)
		return ctx.Err()
	})
	flush()
	if failed := saves.Wait(); failed != nil {
		err = failed
	}
	if err != nil {
		return Sum{}, err
	}
	return a.sum(), nil
}

// merge calls f with the entries of two stores that have the same key; nil if one has none.
func merge(from iter.Seq2[entry, error], next func() (entry, error, bool), f func(source, target *entry) error) error {
	target, err, more := next()
	if err != nil {
		return err
	}
	step := func(source *entry) error { // calls f with the target
		t := target
		if target, err, more = next(); err != nil {
			return err
		}
		return f(source, &t)
	}
	for source, err := range from {
		if err != nil {
			return err
		}
		for more && target.key < source.key {
			if err := step(nil); err != nil {
				return err
			}
		}
		if more && target.key == source.key {
			err = step(&source)
		} else {
			err = f(&source, nil)
		}
		if err != nil {
			return err
		}
	}
	for more {
		if err := step(nil); err != nil {
			return err
		}
	}
	return nil
}

// sum returns the sum of the records of a store.
func (o Options) sum(ctx context.Context, s store.CopyStore, p Progress) (Sum, error) {
	a := o.newAdder(p)
	for e, err := range o.entries(ctx, s, p.Kind) {
		if err != nil {
			return Sum{}, err
		}
		a.add(e)
	}
	return a.sum(), nil
}

// errFound ends a merge.
var errFound = errors.New("found")

// difference says which record differs first.
func (o Options) difference(ctx context.Context, from, to store.CopyStore, kind store.RecordKind) (found string, err error) {
	next, stop := iter.Pull2(o.entries(ctx, to, kind))
	defer stop()
	err = merge(o.entries(ctx, from, kind), next, func(source, target *entry) error {
		switch {
		case source == nil:
			found = "only the target has " + nameOf(target.key)
		case target == nil:
			found = "only the source has " + nameOf(source.key)
		case source.digest != target.digest:
			found = "not the same in both: " + nameOf(source.key)
		default:
			return nil
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return found, nil
	}
	if err == nil {
		err = errors.New("the source has changed; is a host running?")
	}
	return "", err
}
