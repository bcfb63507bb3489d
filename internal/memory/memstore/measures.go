// The measures of runs.

package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// measures has the sums of the measures of one tenant by day.
type measures map[measureKey]map[store.Day]int

type measureKey struct {
	workflow verification.WorkflowID
	store.MeasureKey
}

// add adds what was counted in a run of a workflow, and returns by how many bytes the measures
// have grown.
func (ms *measures) add(w verification.WorkflowID, found []store.Measure) (grown int) {
	if *ms == nil {
		*ms = measures{}
	}
	for _, m := range found {
		key := measureKey{w, m.MeasureKey}
		if (*ms)[key] == nil {
			(*ms)[key] = map[store.Day]int{}
			grown += sizeOfMeasure
		}
		if _, found := (*ms)[key][m.Day]; !found {
			grown += sizeOfDay
		}
		(*ms)[key][m.Day] += m.Count
	}
	return grown
}

// sums adds up what a query selects.
func (ms measures) sums(q store.MeasureQuery) []store.MeasureCounts {
	found := map[store.MeasureKey][]int{}
	for key, counts := range ms {
		total := slices.Contains(q.Totals, key.Name)
		if !total && !slices.Contains(q.Names, key.Name) ||
			q.Workflow != "" && q.Workflow != key.workflow || q.Workflow == "" && key.Version != 0 ||
			q.Version != 0 && key.Version != 0 && q.Version != key.Version {
			continue
		}
		for day, n := range counts {
			if day < q.First || day > q.Last {
				continue
			}
			i, sums := int(day-q.First), int(q.Last-q.First)+1
			if total {
				i, sums = 0, 1
			}
			if found[key.MeasureKey] == nil {
				found[key.MeasureKey] = make([]int, sums)
			}
			found[key.MeasureKey][i] += n
		}
	}
	var all []store.MeasureCounts
	for key, counts := range found {
		all = append(all, store.MeasureCounts{MeasureKey: key, Counts: counts})
	}
	slices.SortFunc(all, func(a, b store.MeasureCounts) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Measures returns the sums of the measures that a query selects.
func (s *Store) Measures(ctx context.Context, t verification.TenantID, q store.MeasureQuery) (all []store.MeasureCounts, err error) {
	err = s.withTenant(ctx, t, func(d *tenantData) { all = d.measures.sums(q) })
	return all, err
}
