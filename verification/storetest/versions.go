// The clauses on workflows that are about refusals, versions, order and tenants.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func refusedSave(t *trial) {
	w, v, late := workflow(1), version(1), version(2)
	t.keep(ours, w, &v)
	changed := w
	changed.Name = "Another"
	t.refusedWorkflow(ours, changed, &late)
	changed.Revision = 3
	t.refusedWorkflow(ours, changed, &late)
	t.keeps(ours, w)
	t.keepsVersion(ours, w.ID, v)
	t.noVersion(ours, w.ID, late.Hash)
	other := workflow(2)
	other.Revision = 2
	t.refusedWorkflow(ours, other, &late)
	t.noVersion(ours, other.ID, late.Hash)
	if !t.over() {
		_, err := t.store.Workflow(t.ctx, ours, other.ID)
		t.refused("Workflow(whose save was refused)", err, verification.ErrNotFound)
	}
}

func cancelledSave(t *trial) {
	w, v := workflow(1), version(1)
	t.keep(ours, w, nil)
	changed := w
	changed.Name, changed.Revision = "Another", 2
	if !t.over() && t.store.SaveWorkflow(cancelled(t.ctx), ours, changed, &v) == nil {
		t.faultf("SaveWorkflow under a context that is over succeeded, want an error")
	}
	t.keeps(ours, w)
	t.noVersion(ours, w.ID, v.Hash)
}

func versionsStay(t *trial) {
	w, first, second := workflow(1), version(1), version(2)
	t.keep(ours, w, &first)
	w.Revision = 2
	t.keep(ours, w, &second)
	w.Revision = 3
	t.keep(ours, w, nil)
	t.keepsVersion(ours, w.ID, version(1))
	t.keepsVersion(ours, w.ID, version(2))
	// A definition that goes back to an older content has its hash: runs that
	// began with that version still find it as it was.
	back := version(3)
	back.Hash, back.Definition.Name = first.Hash, "Another"
	w.Revision = 4
	t.keep(ours, w, &back)
	t.keepsVersion(ours, w.ID, version(1))
	t.keeps(ours, w)
}

func versionsInOrder(t *trial) {
	const n = 12
	w, other, others := workflow(1), workflow(2), version(n+1)
	t.keep(ours, other, &others)
	var all []verification.VersionInfo
	for i := range n {
		// Later versions do not have later hashes or times: the number is the order.
		v := version(i + 1)
		v.Hash, v.CreatedAt = fmt.Sprintf("hash-%d", i*7%n), moment(time.Duration(i*5%n)*tick)
		w.Revision = i + 1
		t.keep(ours, w, &v)
		all = append([]verification.VersionInfo{{Number: v.Number, Hash: v.Hash, CreatedAt: v.CreatedAt}}, all...)
	}
	for _, limit := range []int{1, 5, verification.MaxLimit} {
		for _, offset := range []int{0, limit, n - 1, n, 1_000_000} {
			q := verification.PageQuery{Limit: limit, Offset: offset}
			what := fmt.Sprintf("Versions(limit %d, offset %d)", limit, offset)
			p := t.versions(ours, w.ID, q)
			same(t, what, p.Data, all[min(offset, n):min(offset+limit, n)])
			same(t, "the total of "+what, p.Total, n)
			same(t, "the page that "+what+" says it is", p.PageQuery, q)
		}
	}
	q := verification.PageQuery{Limit: verification.MaxLimit}
	same(t, "the number of versions of a workflow that was never saved", t.versions(ours, workflowID(3), q).Total, 0)
	same(t, "the number of versions of another tenant's workflow", t.versions(theirs, w.ID, q).Total, 0)
}

func (t *trial) versions(tenant verification.TenantID, id verification.WorkflowID, q verification.PageQuery) verification.Page[verification.VersionInfo] {
	if t.over() {
		return verification.Page[verification.VersionInfo]{}
	}
	p, err := t.store.Versions(t.ctx, tenant, id, q)
	t.ok("Versions", err)
	return p
}

func workflowsInOrder(t *trial) {
	const n = 25
	var all []verification.Workflow
	for i := range n {
		// 7 has no divisor in common with 25: every number comes once.
		w := workflow(i*7%n + 1)
		w.CreatedAt = moment(time.Duration((i*7%n)/3) * tick)
		all = append(all, w)
		t.keep(ours, w, nil)
	}
	slices.SortFunc(all, func(a, b verification.Workflow) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		if a.ID > b.ID {
			return -1
		}
		return 1
	})
	// Another revision does not move a workflow.
	all[9].Revision, all[9].Name = 2, "Another"
	t.keep(ours, all[9], nil)
	for _, limit := range []int{1, 7, verification.MaxLimit} {
		for _, offset := range []int{0, limit, n - 1, n, 1_000_000} {
			if t.over() {
				return
			}
			q := verification.PageQuery{Limit: limit, Offset: offset}
			p, err := t.store.Workflows(t.ctx, ours, q)
			what := fmt.Sprintf("Workflows(limit %d, offset %d)", limit, offset)
			t.ok(what, err)
			same(t, what, p.Data, all[min(offset, n):min(offset+limit, n)])
			same(t, "the total of "+what, p.Total, n)
			same(t, "the page that "+what+" says it is", p.PageQuery, q)
		}
	}
}

func workflowsApart(t *trial) {
	mine, v := workflow(1), version(1)
	t.keep(ours, mine, &v)
	if t.over() {
		return
	}
	_, err := t.store.Workflow(t.ctx, theirs, mine.ID)
	t.refused("Workflow(of another tenant)", err, verification.ErrNotFound)
	t.noVersion(theirs, mine.ID, v.Hash)
	p, err := t.store.Workflows(t.ctx, theirs, verification.PageQuery{Limit: verification.MaxLimit})
	t.ok("Workflows", err)
	same(t, "the number of workflows of a tenant that has none", p.Total+len(p.Data), 0)
	changed := mine
	changed.Name, changed.Revision = "Theirs", 2
	t.refusedWorkflow(theirs, changed, nil)

	yours, other := workflow(1), version(1)
	yours.Name, other.Definition.Name = "Theirs", "Theirs"
	t.keep(theirs, yours, &other)
	changed.Name = "Ours"
	t.keep(ours, changed, nil)
	t.keeps(ours, changed)
	t.keeps(theirs, yours)
	t.keepsVersion(ours, mine.ID, v)
	t.keepsVersion(theirs, mine.ID, other)
}
