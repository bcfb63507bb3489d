// What a database knows and a bootstrap file does not list.

package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Names are the names of what a file lists, and of the built-in providers.
type Names struct {
	Tenants         map[verification.TenantID]string                    `json:"tenants"` // names by id
	Workflows       map[verification.TenantID][]verification.WorkflowID `json:"workflows"`
	Providers       []string                                            `json:"providers"`
	TenantProviders map[verification.TenantID][]string                  `json:"tenant_providers"`
	Lists           []string                                            `json:"lists"`
}

// NamesOf returns the names of a file and its providers.
func NamesOf(b definitions.Bootstrap, p Providers) Names {
	n := Names{
		Tenants: map[verification.TenantID]string{}, Workflows: map[verification.TenantID][]verification.WorkflowID{},
		Providers: slices.Sorted(maps.Keys(p.All)), TenantProviders: map[verification.TenantID][]string{}, Lists: []string{},
	}
	for _, l := range b.Lists {
		n.Lists = append(n.Lists, l.Name)
	}
	for _, t := range b.Tenants {
		n.Tenants[t.Tenant.ID] = t.Tenant.Name
		for _, w := range t.Workflows {
			n.Workflows[t.Tenant.ID] = append(n.Workflows[t.Tenant.ID], w.Definition.ID)
		}
	}
	for t, own := range p.Tenant {
		n.TenantProviders[t] = slices.Sorted(maps.Keys(own))
	}
	return n
}

// ParseNames returns the names of a file that was applied.
func ParseNames(text string) (n Names, err error) {
	err = json.Unmarshal([]byte(text), &n)
	return n, err
}

// The kinds of what is unlisted, beside tenants and workflows.
const (
	KindProvider Kind = "provider"
	KindList     Kind = "list"
)

// Unlisted are the things of one kind that a database knows and a file does not list.
type Unlisted struct {
	Kind  Kind
	Names []string // without duplicates, in order
}

// maxNamed is the maximum number of names in the text of an Unlisted.
const maxNamed = 10

// String returns the first 10 names, and how many more there are.
func (u Unlisted) String() string {
	text := strings.Join(u.Names[:min(len(u.Names), maxNamed)], ", ")
	if more := len(u.Names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxVersions is the maximum number of versions, of all workflows together, that
// FindUnlisted reads.
const maxVersions = 2000

// ErrTooManyVersions is returned by FindUnlisted when it did not read all versions.
var ErrTooManyVersions = fmt.Errorf("there are more than %d versions of workflows: the others were not read", maxVersions)

// FindUnlisted returns what the database knows and the file with the names n does not
// list: tenants, their workflows that are not retired, and the providers and lists that
// a version names which new runs execute, or which live runs execute. A run counts as
// live from its first wait on. With an error, the result is what was found until then.
func FindUnlisted(ctx context.Context, s store.Store, n Names, now time.Time) ([]Unlisted, error) {
	f := finder{store: s, names: n, now: now, left: maxVersions, found: map[Kind]map[string]bool{}}
	err := f.find(ctx)
	var all []Unlisted
	for _, kind := range []Kind{KindTenant, KindWorkflow, KindProvider, KindList} {
		if names := f.found[kind]; len(names) > 0 {
			all = append(all, Unlisted{Kind: kind, Names: slices.Sorted(maps.Keys(names))})
		}
	}
	return all, err
}

type finder struct {
	store store.Store
	names Names
	now   time.Time
	left  int // versions that may still be read
	found map[Kind]map[string]bool
}

func (f *finder) add(kind Kind, name string) {
	if f.found[kind] == nil {
		f.found[kind] = map[string]bool{}
	}
	f.found[kind][name] = true
}

func (f *finder) find(ctx context.Context) error {
	tenants, err := store.Tables{RowStore: f.store}.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		_, listed := f.names.Tenants[t.ID]
		if !listed {
			f.add(KindTenant, fmt.Sprintf("%s (%s)", t.Name, t.ID))
		}
		q := store.PageQuery{Limit: store.MaxLimit}
		for {
			page, err := f.store.Workflows(ctx, t.ID, q)
			if err != nil {
				return err
			}
			for _, w := range page.Data {
				if listed && !w.Retired && !slices.Contains(f.names.Workflows[t.ID], w.ID) {
					f.add(KindWorkflow, t.Name+"/"+w.Slug)
				}
				if err := f.versions(ctx, t.ID, w); err != nil {
					return err
				}
			}
			if q.Offset += len(page.Data); len(page.Data) == 0 || q.Offset >= page.Total {
				break
			}
		}
	}
	passes, err := store.Tables{RowStore: f.store}.RescreenPasses(ctx)
	for _, p := range passes {
		if p.EndedAt.IsZero() && !slices.Contains(f.names.Lists, p.List) {
			f.add(KindList, p.List)
		}
	}
	return err
}

// versions adds the providers and lists that the versions of a workflow name.
func (f *finder) versions(ctx context.Context, t verification.TenantID, w workflow.Workflow) error {
	q := store.PageQuery{Limit: store.MaxLimit}
	for {
		page, err := f.store.Versions(ctx, t, w.ID, q)
		if err != nil {
			return err
		}
		for _, info := range page.Data {
			if f.left--; f.left < 0 {
				return ErrTooManyVersions
			}
			v, err := f.store.Version(ctx, t, w.ID, info.Hash)
			if err != nil && !errors.Is(err, verification.ErrNotFound) {
				return err
			}
			providers, lists := f.unknown(t, v.Definition)
			if len(providers)+len(lists) == 0 {
				continue
			}
			used := w.Current() == v.Hash && !w.Retired
			if !used {
				if used, err = f.live(ctx, t, w.ID, v); err != nil {
					return err
				}
			}
			for _, name := range providers {
				if used {
					f.add(KindProvider, name)
				}
			}
			for _, name := range lists {
				if used {
					f.add(KindList, name)
				}
			}
		}
		if q.Offset += len(page.Data); len(page.Data) == 0 || q.Offset >= page.Total {
			return nil
		}
	}
}

// unknown returns the providers and lists that a definition names and the file does not
// list. The name of a list may be an expression, which is not evaluated.
func (f *finder) unknown(t verification.TenantID, d workflow.Definition) (providers, lists []string) {
	d.EachCheck(func(_ verification.NodeID, n workflow.Node) {
		for _, name := range []string{n.Provider, n.Fallback} {
			if name != "" && !slices.Contains(f.names.Providers, name) && !slices.Contains(f.names.TenantProviders[t], name) {
				providers = append(providers, name)
			}
		}
		if n.Provider != screening.ProviderName && n.Fallback != screening.ProviderName {
			return
		}
		list, _ := n.With.Map()["list"].(string)
		if list != "" && !strings.Contains(list, "${") && !slices.Contains(f.names.Lists, list) {
			lists = append(lists, list)
		}
	})
	return providers, lists
}

// live reports whether runs of a version are live: more of them have entered it than have
// reached an end or stopped.
func (f *finder) live(ctx context.Context, t verification.TenantID, w verification.WorkflowID, v workflow.Version) (bool, error) {
	sums, err := f.store.Measures(ctx, t, store.MeasureQuery{
		Workflow: w, Version: v.Number,
		Totals: []store.MeasureName{store.MeasureTransition, store.MeasureStopped},
		First:  store.DayOf(v.CreatedAt, time.UTC) - 1, Last: store.DayOf(f.now, time.UTC) + 1, // in any zone
	})
	if err != nil {
		return false, err
	}
	live := 0
	for _, m := range sums {
		if m.Name == store.MeasureStopped {
			live -= m.Counts[0]
			continue
		}
		move := m.Parts().Transition
		if move.From == "" {
			live += m.Counts[0]
		}
		if v.Definition.Nodes[move.To].Type == workflow.NodeEnd {
			live -= m.Counts[0]
		}
	}
	return live > 0, nil
}
