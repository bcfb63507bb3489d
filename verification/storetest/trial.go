// Helpers of clauses: they call the store, and end the clause at a wrong result.

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// ok ends the clause if a call has returned an error.
func (t *trial) ok(call string, err error) {
	if err != nil {
		t.failf("%s: %w, want no error", call, err)
	}
}

// refused ends the clause unless a call has returned a *verification.Error of a kind.
func (t *trial) refused(call string, err, kind error) {
	var expected *verification.Error
	switch {
	case err == nil:
		t.failf("%s succeeded, want %q", call, kind)
	case !errors.Is(err, kind):
		t.failf("%s: %w, want %q", call, err, kind)
	case !errors.As(err, &expected):
		t.failf("%s: %w, which is not a *verification.Error", call, err)
	}
}

// same ends the clause unless two values are equal; times must also have the same
// location. A nil slice equals an empty one.
func same[T any](t *trial, what string, got, want T) {
	if reflect.DeepEqual(got, want) {
		return
	}
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	if a.Kind() != reflect.Slice || a.Len() != b.Len() {
		t.differ(what, got, want)
	}
	for i := range a.Len() {
		if x, y := a.Index(i).Interface(), b.Index(i).Interface(); !reflect.DeepEqual(x, y) {
			t.differ(fmt.Sprintf("number %d of %s", i, what), x, y)
		}
	}
}

// differ ends the clause with an error that has two different values: as JSON, or as Go
// values if their JSON is the same.
func (t *trial) differ(what string, got, want any) {
	if a, b := shown(got), shown(want); a != b {
		t.failf("%s = %s, want %s", what, a, b)
	}
	t.failf("%s = %#v, want %#v", what, got, want)
}

// shown returns a value as JSON.
func shown(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return strings.TrimSpace(b.String())
}

// page ends the clause unless a list returns the part of all that a query selects.
func page[T any](t *trial, call string, q store.PageQuery, all []T, list func(store.PageQuery) (store.Page[T], error)) {
	call = fmt.Sprintf("%s(limit %d, offset %d)", call, q.Limit, q.Offset)
	p, err := list(q)
	t.ok(call, err)
	same(t, call, p.Data, all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))])
	same(t, "the total of "+call, p.Total, len(all))
	same(t, "the query in the page of "+call, p.PageQuery, q)
}

// pages calls page with several limits and offsets, also past the end of all.
func pages[T any](t *trial, call string, all []T, list func(store.PageQuery) (store.Page[T], error)) {
	for _, limit := range []int{1, 7, store.DefaultLimit, store.MaxLimit} {
		for _, offset := range []int{0, 1, limit, 2 * limit, max(0, len(all)-limit), len(all) - 1, len(all), 1_000_000} {
			page(t, call, store.PageQuery{Limit: limit, Offset: offset}, all, list)
		}
	}
}

// firstPage selects the first MaxLimit records of a list.
func firstPage() store.PageQuery { return store.PageQuery{Limit: store.MaxLimit} }

// add appends to a run whose history has seq events.
func (t *trial) add(tenant verification.TenantID, id verification.RunID, seq int, c store.Commit) {
	t.ok(fmt.Sprintf("Append(seq %d)", seq), t.store.Append(t.ctx, tenant, id, seq, c))
}

// save appends whole histories, each in one append.
func (t *trial) save(tenant verification.TenantID, histories ...history) {
	for _, s := range histories {
		t.add(tenant, s.id, 0, s.commit())
	}
}

// extend appends the events of a history after its first seq events.
func (t *trial) extend(tenant verification.TenantID, s history, seq int) {
	t.add(tenant, s.id, seq, s.commitAfter(seq))
}

func (t *trial) load(tenant verification.TenantID, id verification.RunID, after int) []rules.Event {
	events, err := t.store.Load(t.ctx, tenant, id, after)
	t.ok(fmt.Sprintf("Load(after %d)", after), err)
	return events
}

// holds ends the clause unless the store has a history and its summary, and no other
// summary of that run.
func (t *trial) holds(tenant verification.TenantID, s history) {
	same(t, "the history", t.load(tenant, s.id, 0), s.events)
	var found []rules.Summary
	for _, got := range t.list(tenant, everything(instant(0))).Data {
		if got.ID == s.id {
			found = append(found, got)
		}
	}
	same(t, "the summary", found, []rules.Summary{s.summary()})
}

func (t *trial) list(tenant verification.TenantID, q store.RunQuery) store.Page[rules.Summary] {
	p, err := t.store.List(t.ctx, tenant, q)
	t.ok("List", err)
	return p
}

// everything selects every run of a tenant, on one page, as of a time.
func everything(now time.Time) store.RunQuery {
	return store.RunQuery{PageQuery: firstPage(), Now: now}
}

// expires takes the due deadlines, and ends the clause unless they are those of the runs.
func (t *trial) expires(now time.Time, runs ...verification.RunRef) {
	r := due(expireKey(), now)
	r.Lease = 0 // they stay due
	work, _ := t.takeKind(r)
	var got []verification.RunRef
	for _, w := range work {
		got = append(got, w.RunRef)
	}
	same(t, "the runs whose deadline is due", got, runs)
}

// lease is the length of the leases that clauses take.
const lease = time.Minute

// noLimit is a limit above the number of runs and pieces that any clause takes.
const noLimit = 100

// take takes up to max due pieces: advances first, then announcements.
func (t *trial) take(now time.Time, max int) (work []store.Work, next time.Time) {
	for _, kind := range []store.WorkKind{store.WorkAdvance, store.WorkAnnounce} {
		more, at := t.takeKind(store.TakeRequest{
			Kind: kind, Now: now, Lease: lease, Max: max - len(work), MaxPerTenant: noLimit,
		})
		work = append(work, more...)
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return work, next
}

func (t *trial) takeKind(r store.TakeRequest) ([]store.Work, time.Time) {
	work, next, err := t.store.Take(t.ctx, r)
	t.ok("Take", err)
	return work, next
}

// takeOne takes all due work, and ends the clause unless that is one piece.
func (t *trial) takeOne(now time.Time) store.Work {
	work, _ := t.take(now, noLimit)
	if len(work) != 1 {
		t.failf("Take(start+%s) = %s, want one piece", now.Sub(instant(0)), shown(work))
	}
	return work[0]
}

// takeNone ends the clause if work is due.
func (t *trial) takeNone(now time.Time) {
	if work, _ := t.take(now, noLimit); len(work) != 0 {
		t.failf("Take(start+%s) = %s, want nothing due", now.Sub(instant(0)), shown(work))
	}
}

func (t *trial) finish(w store.Work) { t.ok("Finish", t.store.Finish(t.ctx, w)) }

func (t *trial) postpone(w store.Work, at time.Time) {
	t.ok("Postpone", t.store.Postpone(t.ctx, w, at))
}

func (t *trial) releaseWork(at time.Time, work ...store.Work) {
	t.ok("Release", t.store.Release(t.ctx, work, at))
}

func (t *trial) renew(until time.Time, runs ...verification.RunRef) {
	t.ok("Renew", t.store.Renew(t.ctx, runs, until, false))
}

func (t *trial) renewAlone(until time.Time, runs ...verification.RunRef) {
	t.ok("Renew", t.store.Renew(t.ctx, runs, until, true))
}

// callers is the number of concurrent callers.
const callers = 8

// concurrently calls f for each caller at the same time and returns its errors.
func concurrently(f func(caller int) error) (errs [callers]error) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(callers)
	for caller := range callers {
		done.Go(func() {
			ready.Done()
			<-start
			errs[caller] = f(caller)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return errs
}

// cancelled returns a context that is cancelled.
func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
