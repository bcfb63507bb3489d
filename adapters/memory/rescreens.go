// The runs that are screened again, and the passes over lists.

package memory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// rescreens has the last pass over each list, and the runs that are screened again.
type rescreens struct {
	mu     sync.Mutex
	passes map[string]verification.RescreenPass
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
	if s.pass != other.pass {
		return s.pass < other.pass
	}
	return s.run < other.run
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
		if p := rs.passes[l.List]; p.Version == l.Version {
			pass = p.Number
		}
		rs.put(l.List, ref, pass)
	}
}

// HoldList makes a host the only one that works on a list until a time.
func (s *Store) HoldList(ctx context.Context, list, holder string, now, until time.Time) (verification.RescreenPass, error) {
	if err := ctx.Err(); err != nil {
		return verification.RescreenPass{}, err
	}
	rs := &s.rescreens
	rs.mu.Lock()
	defer rs.mu.Unlock()
	p := rs.passes[list]
	if p.Holder != "" && p.Holder != holder && p.HeldUntil.After(now) {
		return verification.RescreenPass{}, verification.ListHeld()
	}
	p.List, p.Holder, p.HeldUntil = list, holder, until
	if rs.passes == nil {
		rs.passes = map[string]verification.RescreenPass{}
	}
	rs.passes[list] = p
	return p, nil
}

// SavePass replaces the last pass over a list, and records that runs were screened in it.
func (s *Store) SavePass(ctx context.Context, p verification.RescreenPass, runs []verification.RunRef) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rs := &s.rescreens
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if old, found := rs.passes[p.List]; !found || old.Holder != p.Holder {
		return verification.ListHeld()
	}
	rs.passes[p.List] = p
	for _, ref := range runs {
		if _, found := rs.passOf[screenedKey{p.List, ref}]; found {
			rs.put(p.List, ref, p.Number)
		}
	}
	return nil
}

// OutdatedRuns returns runs that were last screened before a pass.
func (s *Store) OutdatedRuns(ctx context.Context, q verification.OutdatedQuery) ([]verification.RunRef, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rs := &s.rescreens
	rs.mu.Lock()
	defer rs.mu.Unlock()
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
func (s *Store) RescreenPasses(ctx context.Context) ([]verification.RescreenPass, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rs := &s.rescreens
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var all []verification.RescreenPass
	for _, list := range slices.Sorted(maps.Keys(rs.passes)) {
		all = append(all, rs.passes[list])
	}
	return all, nil
}
