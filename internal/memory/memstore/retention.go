// Retention: runs by their start, and the removal of old records.

package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// StartedRuns returns runs of a workflow that started before a time, the earliest first.
func (s *Store) StartedRuns(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
) (found []rules.Summary, err error) {
	err = s.withTenant(ctx, t, func(d *tenantData) {
		tree := d.index.runs[filter{workflow: w}]
		if tree == nil {
			return
		}
		from := &record{summary: rules.Summary{ID: after.Run, StartedAt: after.StartedAt}}
		tree.Descend(from, func(r *record) bool { // the tree has the newest run first
			if len(found) >= limit || !r.summary.StartedAt.Before(before) {
				return false
			}
			if newer(r, from) {
				found = append(found, r.shown(store.RunQuery{}))
			}
			return true
		})
	})
	return found, err
}

// Forget removes old records, at most limit, in an order that does not depend on the order of the calls that
// saved them. It looks at all measures and keys.
func (s *Store) Forget(ctx context.Context, before store.Ages, limit int) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !before.Deliveries.IsZero() {
		n += s.deliveries.forget(before.Deliveries, limit-n, s.kept.add)
	}
	if !before.Keys.IsZero() {
		n += s.keys.forget(before.Keys, limit-n, s.kept.add)
	}
	if !before.Measures.IsZero() {
		tenants := s.tenantsWithRuns()
		for _, t := range slices.Sorted(maps.Keys(tenants)) {
			n += tenants[t].forgetMeasures(store.DayOf(before.Measures, time.UTC), limit-n, &s.kept)
		}
	}
	removed, err := s.forgetEntries(ctx, before, limit-n)
	return n + removed, err
}

// forget removes deliveries that are old and not pending.
func (d *deliveries) forget(before time.Time, limit int, count func(t verification.TenantID, bytes int)) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var old []noticeKey
	lists := slices.SortedFunc(maps.Keys(d.lists), func(a, b deliveryList) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.state, b.state))
	})
	for _, list := range lists {
		if list.state == "" || list.state == rules.DeliveryPending {
			continue
		}
		d.lists[list].Reverse(func(sent rules.Delivery) bool {
			if len(old) >= limit || !sent.LastAt.Before(before) {
				return false
			}
			old = append(old, noticeKey{list.tenant, sent.Ref()})
			return true
		})
	}
	for _, key := range old {
		d.remove(key, count)
	}
	return len(old)
}

// forget removes the records of keys that are old.
func (k *idempotencyKeys) forget(before time.Time, limit int, count func(t verification.TenantID, bytes int)) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	var old []tenantKey
	for key, r := range k.rows {
		if r.At.Before(before) {
			old = append(old, key)
		}
	}
	slices.SortFunc(old, tenantKey.compare)
	old = old[:min(limit, len(old))]
	for _, key := range old {
		delete(k.rows, key)
	}
	k.removeReleased(count)
	return len(old)
}

func (k tenantKey) compare(l tenantKey) int {
	return cmp.Or(cmp.Compare(k.tenant, l.tenant), cmp.Compare(k.Scope, l.Scope), strings.Compare(k.Key, l.Key))
}

// forgetMeasures removes the sums of the days before a day.
func (d *tenantData) forgetMeasures(before store.Day, limit int, kept *counts) int {
	type sum struct {
		measureKey
		day store.Day
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var old []sum
	for key, days := range d.measures {
		for day := range days {
			if day < before {
				old = append(old, sum{key, day})
			}
		}
	}
	slices.SortFunc(old, func(a, b sum) int { return cmp.Or(a.compare(b.measureKey), cmp.Compare(a.day, b.day)) })
	old = old[:min(limit, len(old))]
	for _, m := range old {
		days := d.measures[m.measureKey]
		delete(days, m.day)
		kept.addTo(d.kept, -sizeOfDay)
		if len(days) == 0 {
			delete(d.measures, m.measureKey)
			kept.addTo(d.kept, -sizeOfMeasure)
		}
	}
	return len(old)
}

func (k measureKey) compare(l measureKey) int {
	return cmp.Or(cmp.Compare(k.workflow, l.workflow), cmp.Compare(k.Name, l.Name), cmp.Compare(k.Key, l.Key), cmp.Compare(k.Version, l.Version))
}
