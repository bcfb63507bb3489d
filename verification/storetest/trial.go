// A trial: one clause on its way through a store, up to the first fault.

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// trial calls the store and keeps the first fault. After it, every call gives
// nothing and every comparison passes, so that a clause reads straight down.
type trial struct {
	ctx   context.Context
	store Store
	fault error
}

// clause makes a Clause of a check that needs no error handling.
func clause(name, promise string, check func(*trial)) Clause {
	return Clause{Name: name, Promise: promise, Check: func(ctx context.Context, s Store) error {
		t := &trial{ctx: ctx, store: s}
		check(t)
		return t.fault
	}}
}

// over tells whether the trial has come to its end.
func (t *trial) over() bool { return t.fault != nil }

// faultf ends the trial, unless it is over already.
func (t *trial) faultf(format string, args ...any) {
	if t.fault == nil {
		t.fault = fmt.Errorf(format, args...)
	}
}

// ok wants a call to succeed.
func (t *trial) ok(call string, err error) {
	if err != nil {
		t.faultf("%s: %w, want no error", call, err)
	}
}

// refused wants a call to fail with an expected failure of a kind.
func (t *trial) refused(call string, err, kind error) {
	var expected *verification.Error
	switch {
	case t.over():
	case err == nil:
		t.faultf("%s succeeded, want %q", call, kind)
	case !errors.Is(err, kind):
		t.faultf("%s: %w, want %q", call, err, kind)
	case !errors.As(err, &expected):
		t.faultf("%s: %w, which is no *verification.Error", call, err)
	}
}

// same wants two values to be equal, moments in UTC included. Two empty slices
// are equal, be they nil or not.
func same[T any](t *trial, what string, got, want T) {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	slices := a.Kind() == reflect.Slice && b.Kind() == reflect.Slice && a.Len() == b.Len()
	if t.over() || reflect.DeepEqual(got, want) || slices && a.Len() == 0 {
		return
	}
	if !slices {
		t.unlike(what, got, want)
		return
	}
	for i := range a.Len() {
		if x, y := a.Index(i).Interface(), b.Index(i).Interface(); !reflect.DeepEqual(x, y) {
			t.unlike(fmt.Sprintf("number %d of %s", i, what), x, y)
		}
	}
}

// unlike tells two values apart, in the first form that does.
func (t *trial) unlike(what string, got, want any) {
	for _, form := range []func(any) string{
		shown,
		func(v any) string { return fmt.Sprintf("%+v", v) },
	} {
		if a, b := form(got), form(want); a != b {
			t.faultf("%s = %s, want %s", what, a, b)
		}
	}
	t.faultf("%s = %#v, want %#v", what, got, want)
}

func shown(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return strings.TrimSpace(b.String())
}

// add appends to a run and wants it to succeed.
func (t *trial) add(tenant verification.TenantID, id verification.RunID, seq int, a verification.Commit) {
	if !t.over() {
		t.ok(fmt.Sprintf("Append(seq %d)", seq), t.store.Append(t.ctx, tenant, id, seq, a))
	}
}

// save keeps whole stories, each in one append.
func (t *trial) save(tenant verification.TenantID, stories ...story) {
	for _, s := range stories {
		t.add(tenant, s.id, 0, s.appendix())
	}
}

// extend appends what a story goes on with, after its first seq events.
func (t *trial) extend(tenant verification.TenantID, s story, seq int) {
	a := s.appendix()
	a.Events = a.Events[seq:]
	t.add(tenant, s.id, seq, a)
}

func (t *trial) load(tenant verification.TenantID, id verification.RunID, after int) []verification.Event {
	if t.over() {
		return nil
	}
	events, err := t.store.Load(t.ctx, tenant, id, after)
	t.ok(fmt.Sprintf("Load(after %d)", after), err)
	return events
}

// holds wants the store to have a story's history and summary, and no other
// summary of that run.
func (t *trial) holds(tenant verification.TenantID, s story) {
	same(t, "the history", t.load(tenant, s.id, 0), s.events)
	var found []verification.Summary
	for _, got := range t.list(tenant, everything(moment(0))).Data {
		if got.ID == s.id {
			found = append(found, got)
		}
	}
	same(t, "the summary", found, []verification.Summary{s.summary()})
}

func (t *trial) list(tenant verification.TenantID, q verification.RunQuery) verification.Page[verification.Summary] {
	if t.over() {
		return verification.Page[verification.Summary]{}
	}
	p, err := t.store.List(t.ctx, tenant, q)
	t.ok("List", err)
	return p
}

// everything asks for every run, as of a moment.
func everything(now time.Time) verification.RunQuery {
	return verification.RunQuery{PageQuery: verification.PageQuery{Limit: verification.MaxLimit}, Now: now}
}

func (t *trial) overdue(now time.Time, most int) ([]verification.RunRef, time.Time) {
	if t.over() {
		return nil, time.Time{}
	}
	runs, next, err := t.store.Overdue(t.ctx, now, most)
	t.ok("Overdue", err)
	return runs, next
}

// lease is how long clauses take work for.
const lease = time.Minute

// many is more than any clause has of anything.
const many = 100

// take takes advances and then announcements, max in all.
func (t *trial) take(now time.Time, max int) (work []verification.Work, next time.Time) {
	for _, kind := range []verification.WorkKind{verification.WorkAdvance, verification.WorkAnnounce} {
		more, at := t.takeKind(verification.TakeRequest{
			Kind: kind, Now: now, Lease: lease, Max: max - len(work), MaxPerTenant: many,
		})
		work = append(work, more...)
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return work, next
}

func (t *trial) takeKind(r verification.TakeRequest) ([]verification.Work, time.Time) {
	if t.over() {
		return nil, time.Time{}
	}
	work, next, err := t.store.Take(t.ctx, r)
	t.ok("Take", err)
	return work, next
}

// takeOne takes all that is due and wants it to be one piece.
func (t *trial) takeOne(now time.Time) verification.Work {
	work, _ := t.take(now, many)
	if len(work) != 1 {
		t.faultf("Take(start+%s) = %s, want one piece", now.Sub(moment(0)), shown(work))
		return verification.Work{}
	}
	return work[0]
}

// takeNone wants nothing to be due.
func (t *trial) takeNone(now time.Time) {
	if work, _ := t.take(now, many); len(work) != 0 {
		t.faultf("Take(start+%s) = %s, want nothing due", now.Sub(moment(0)), shown(work))
	}
}

func (t *trial) finish(w verification.Work) {
	if !t.over() {
		t.ok("Finish", t.store.Finish(t.ctx, w))
	}
}

func (t *trial) postpone(w verification.Work, at time.Time) {
	if !t.over() {
		t.ok("Postpone", t.store.Postpone(t.ctx, w, at))
	}
}

func (t *trial) releaseWork(at time.Time, work ...verification.Work) {
	if !t.over() {
		t.ok("Release", t.store.Release(t.ctx, work, at))
	}
}

func (t *trial) renew(until time.Time, runs ...verification.RunRef) {
	if !t.over() {
		t.ok("Renew", t.store.Renew(t.ctx, runs, until))
	}
}

// cancelled is a context that is over.
func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
