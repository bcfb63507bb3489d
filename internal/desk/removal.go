// Removals: the runs whose personal data may be removed together, by whom they are about.

package desk

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// RemovalRun is a run whose personal data may be removed.
type RemovalRun struct {
	RunRecord
	KeptUntil time.Time          // it must be kept until then; zero for no such time
	Found     []facts.SearchKind // by which of its words a search has found it; nil if they do not have all that the search asks for
	FoundWho  []facts.Element    // its elements by whose words a search has found it
}

// Removals returns runs of a tenant, in groups that are about one person or company, the largest group first: each run
// of a group has its reference id, a number, or a name and a birth date in common with another one. keys are those of
// the search that has found the runs; nil for none. It returns ErrNotFound for a run that there is not.
func (d *Desk) Removals(
	ctx context.Context, t verification.TenantID, runs []verification.RunID, keys [][]store.SearchKey,
) (groups [][]RemovalRun, err error) {
	var shared [][]string // of each group, what its runs may have in common with others
	for _, id := range runs {
		one := RemovalRun{}
		if one.RunRecord, err = d.RunRecord(ctx, t, id, false); err != nil {
			return nil, err
		}
		run := one.Report.Run
		if one.KeptUntil, err = d.engine.KeptUntil(ctx, t, one.Report.Workflow.ID, run.StartedAt, run.CompletedAt); err != nil {
			return nil, err
		}
		own, found := []string(nil), d.answers(t, keys, one.words)
		if run.ReferenceID != rules.RedactedReference { // which runs of several people have
			own = append(own, "reference "+run.ReferenceID)
		}
		for _, w := range one.words {
			if relation, ok := relationOf(w.Kind); ok && !relation.Weak() {
				own = append(own, string(w.Kind)+" "+w.Text)
			}
			if found && d.asks(t, slices.Concat(keys...), w) && !slices.Contains(one.Found, w.Kind) {
				one.Found = append(one.Found, w.Kind)
			}
		}
		for _, e := range one.Elements.All {
			if words := e.SearchWords(); d.answers(t, keys, words) || !found && d.asks(t, slices.Concat(keys...), words...) {
				one.FoundWho = append(one.FoundWho, e)
			}
		}
		group := []RemovalRun{one}
		for i := len(groups) - 1; i >= 0; i-- {
			if slices.ContainsFunc(own, func(text string) bool { return slices.Contains(shared[i], text) }) {
				group, own = append(groups[i], group...), append(shared[i], own...)
				groups, shared = slices.Delete(groups, i, i+1), slices.Delete(shared, i, i+1)
			}
		}
		groups, shared = append(groups, group), append(shared, own)
	}
	slices.SortStableFunc(groups, func(a, b []RemovalRun) int { return cmp.Compare(len(b), len(a)) })
	return groups, nil
}

// answers reports whether words have all that a search asks for; false for no search.
func (d *Desk) answers(t verification.TenantID, keys [][]store.SearchKey, words []facts.SearchWord) bool {
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(choice []store.SearchKey) bool { return !d.asks(t, choice, words...) })
}

// asks reports whether words have any of the keys of a search.
func (d *Desk) asks(t verification.TenantID, keys []store.SearchKey, words ...facts.SearchWord) bool {
	own := slices.Concat(d.engine.SearchKeys(t, words)...)
	return slices.ContainsFunc(keys, func(k store.SearchKey) bool { return slices.Contains(own, k) })
}
