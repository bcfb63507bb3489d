// The runs that are screened again, and the passes over lists.

package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// rescreens has the last pass over each list, and the runs that are screened again.
type rescreens struct {
	table[string, verification.RescreenPass] // by list

	passOf map[screenedKey]int // in which each run was screened last
	runs   trees[tenantList, screenedRun]
}

type screenedKey struct {
	list string
	run  verification.RunRef
}

type tenantList struct {
	tenant verification.TenantID
	list   string
}

// screenedRun is a run and the pass in which it was screened last.
type screenedRun struct {
	pass int
	run  verification.RunID
}

func (s screenedRun) before(other screenedRun) bool {
	return cmp.Or(cmp.Compare(s.pass, other.pass), cmp.Compare(s.run, other.run)) < 0
}

// tree returns the runs of a tenant that are screened against a list. The caller holds
// the lock.
func (rs *rescreens) tree(t verification.TenantID, list string) *btree.BTreeG[screenedRun] {
	return rs.runs.at(tenantList{t, list}, screenedRun.before)
}

// put records the pass in which a run was screened last. The caller holds the lock.
func (rs *rescreens) put(list string, ref verification.RunRef, pass int) {
	k, tree := screenedKey{list, ref}, rs.tree(ref.Tenant, list)
	if old, found := rs.passOf[k]; found {
		tree.Delete(screenedRun{old, ref.Run})
	}
	if rs.passOf == nil {
		rs.passOf = map[screenedKey]int{}
	}
	rs.passOf[k] = pass
	tree.Set(screenedRun{pass, ref.Run})
}

// add adds a run that is completed.
func (rs *rescreens) add(ref verification.RunRef, lists []verification.ScreenedList) {
	if len(lists) == 0 {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range lists {
		pass := 0
		if p := rs.rows[l.List]; p.Version == l.Version {
			pass = p.Number
		}
		rs.put(l.List, ref, pass)
	}
}

// HoldList makes a host the only one that works on a list until the given time.
func (s *Store) HoldList(ctx context.Context, list, holder string, now, until time.Time) (held verification.RescreenPass, err error) {
	err = s.rescreens.change(ctx, func(passes map[string]verification.RescreenPass) error {
		p := passes[list]
		if p.Holder != "" && p.Holder != holder && p.HeldUntil.After(now) {
			return verification.ListHeld()
		}
		p.List, p.Holder, p.HeldUntil = list, holder, until
		passes[list], held = p, p
		return nil
	})
	return held, err
}

// SavePass replaces the last pass over a list, and records that runs were screened in it.
func (s *Store) SavePass(ctx context.Context, p verification.RescreenPass, runs []verification.RunRef) error {
	return s.rescreens.change(ctx, func(passes map[string]verification.RescreenPass) error {
		if old, found := passes[p.List]; !found || old.Holder != p.Holder {
			return verification.ListHeld()
		}
		passes[p.List] = p
		for _, ref := range runs {
			if _, found := s.rescreens.passOf[screenedKey{p.List, ref}]; found {
				s.rescreens.put(p.List, ref, p.Number)
			}
		}
		return nil
	})
}

// OutdatedRuns returns runs that were last screened before a pass.
func (s *Store) OutdatedRuns(ctx context.Context, q verification.OutdatedQuery) ([]verification.RunRef, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rs := &s.rescreens
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	var turns [][]verification.RunRef // the first run of each tenant, the second ones, ...
	order := func(a, b tenantList) int { return compareAfter(q.After, a.tenant, b.tenant) }
	for _, k := range slices.SortedFunc(maps.Keys(rs.runs), order) {
		if k.list != q.List {
			continue
		}
		turn := 0
		rs.runs[k].Scan(func(r screenedRun) bool {
			if r.pass >= q.Pass || turn == q.Limit {
				return false
			}
			if turn == len(turns) {
				turns = append(turns, nil)
			}
			turns[turn] = append(turns[turn], verification.RunRef{Tenant: k.tenant, Run: r.run})
			turn++
			return true
		})
	}
	all := slices.Concat(turns...)
	return all[:min(q.Limit, len(all))], nil
}

// RescreenPasses returns the last pass over each list.
func (s *Store) RescreenPasses(ctx context.Context) (all []verification.RescreenPass, err error) {
	err = s.rescreens.read(ctx, func() error {
		for _, list := range slices.Sorted(maps.Keys(s.rescreens.rows)) {
			all = append(all, s.rescreens.rows[list])
		}
		return nil
	})
	return all, err
}
