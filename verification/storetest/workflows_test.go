package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// versionName names a version across saves.
type versionName struct {
	tenant   tenantID
	workflow verification.WorkflowID
	hash     string
}

// saving breaks SaveWorkflow for a revision that is not the next one.
func saving(then func(ctx context.Context, sound store.Store, t tenantID, w workflow.Workflow, added *workflow.Version) error) breakage {
	return func(b *broken, sound stores) {
		b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
			err := sound.SaveWorkflow(ctx, t, w, added)
			if errors.Is(err, verification.ErrConflict) {
				return then(ctx, sound, t, w, added)
			}
			return err
		}
	}
}

// besides keeps versions beside the sound store, and returns them first.
func besides(b *broken, sound stores) *memo[versionName, workflow.Version] {
	kept := &memo[versionName, workflow.Version]{}
	b.VersionFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
		if v, ok := kept.get(versionName{t, id, hash}); ok {
			return v, nil
		}
		return sound.Version(ctx, t, id, hash)
	}
	return kept
}

// listingVersions breaks the results of Versions.
func listingVersions(spoil func(*store.Page[workflow.VersionInfo])) breakage {
	return func(b *broken, sound stores) {
		b.VersionsFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID, q store.PageQuery) (store.Page[workflow.VersionInfo], error) {
			p, err := sound.Versions(ctx, t, id, q)
			spoil(&p)
			return p, err
		}
	}
}

func workflowBreaches() []breach {
	return []breach{
		{"a workflow is returned as it was saved", "Workflow forgets the webhook", func(b *broken, sound stores) {
			b.WorkflowFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID) (workflow.Workflow, error) {
				w, err := sound.Workflow(ctx, t, id)
				w.LifecycleWebhookURL = ""
				return w, err
			}
		}},
		{"a workflow is returned as it was saved", "the list shows no limits", func(b *broken, sound stores) {
			b.WorkflowsFunc = func(ctx context.Context, t tenantID, q store.PageQuery) (store.Page[workflow.Workflow], error) {
				p, err := sound.Workflows(ctx, t, q)
				for i := range p.Data {
					p.Data[i].RunTTLSeconds = 0
				}
				return p, err
			}
		}},
		{"a version is returned as it was saved", "Version sorts the fields of an input", func(b *broken, sound stores) {
			b.VersionFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
				v, err := sound.Version(ctx, t, id, hash)
				nodes := map[verification.NodeID]workflow.Node{}
				for id, n := range v.Definition.Nodes {
					n.Fields = slices.Clone(n.Fields)
					slices.SortFunc(n.Fields, func(a, b workflow.InputField) int { return strings.Compare(a.Name, b.Name) })
					nodes[id] = n
				}
				v.Definition.Nodes = nodes
				return v, err
			}
		}},
		{"an unknown workflow or version is not found", "Workflow makes one up", func(b *broken, sound stores) {
			b.WorkflowFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID) (workflow.Workflow, error) {
				w, err := sound.Workflow(ctx, t, id)
				if errors.Is(err, verification.ErrNotFound) {
					return workflow.Workflow{ID: id}, nil
				}
				return w, err
			}
		}},
		{"an unknown workflow or version is not found", "Version gives any version for a hash it does not have", func(b *broken, sound stores) {
			b.VersionFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
				v, err := sound.Version(ctx, t, id, hash)
				if err != nil {
					return sound.Version(ctx, t, id, "hash-1")
				}
				return v, err
			}
		}},
		{
			"only its next revision replaces a workflow", "SaveWorkflow ignores the revision",
			saving(func(ctx context.Context, s store.Store, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				stored, _ := s.Workflow(ctx, t, w.ID)
				w.Revision = stored.Revision + 1
				return s.SaveWorkflow(ctx, t, w, added)
			}),
		},
		{
			"exactly one of concurrent saves of a workflow succeeds", "a save that came late returns no error",
			saving(func(context.Context, store.Store, tenantID, workflow.Workflow, *workflow.Version) error {
				return nil
			}),
		},
		{
			"an append on an older revision is saved before a change of the workflow returns, or refused",
			"Append compares the revision before it saves", func(b *broken, sound stores) {
				loaded := make(chan struct{}, 1)
				b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
					defer func() {
						select {
						case loaded <- struct{}{}:
						default:
						}
					}()
					return sound.Load(ctx, t, id, after)
				}
				b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
					select {
					case <-loaded: // of an earlier round
					default:
					}
					w, err := sound.Workflow(ctx, t, a.Summary.Workflow)
					if err != nil || a.WorkflowRevision == 0 || w.Revision != a.WorkflowRevision {
						return sound.Append(ctx, t, id, seq, a)
					}
					<-loaded
					a.WorkflowRevision = 0
					return sound.Append(ctx, t, id, seq, a)
				}
			},
		},
		{"a refused save changes nothing", "the version is stored before the revision is checked", func(b *broken, sound stores) {
			kept := besides(b, sound)
			b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				if added != nil {
					kept.set(versionName{t, w.ID, added.Hash}, *added)
				}
				return sound.SaveWorkflow(ctx, t, w, added)
			}
		}},
		{"a save with a cancelled context changes nothing", "SaveWorkflow ignores the context", func(b *broken, sound stores) {
			b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				return sound.SaveWorkflow(context.WithoutCancel(ctx), t, w, added)
			}
		}},
		{"a version never changes", "a hash that comes again replaces its version", func(b *broken, sound stores) {
			kept := besides(b, sound)
			b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				err := sound.SaveWorkflow(ctx, t, w, added)
				if added != nil && err == nil {
					kept.set(versionName{t, w.ID, added.Hash}, *added)
				}
				return err
			}
		}},
		{
			"versions are listed from the highest number", "the newest version comes first",
			listingVersions(func(p *store.Page[workflow.VersionInfo]) {
				slices.SortFunc(p.Data, func(a, b workflow.VersionInfo) int { return b.CreatedAt.Compare(a.CreatedAt) })
			}),
		},
		{
			"versions are listed from the highest number", "the total is that of the page",
			listingVersions(func(p *store.Page[workflow.VersionInfo]) { p.Total = len(p.Data) }),
		},
		{
			"versions are listed from the highest number", "Versions ignores the tenant",
			func(b *broken, sound stores) {
				b.VersionsFunc = func(ctx context.Context, _ tenantID, id verification.WorkflowID, q store.PageQuery) (store.Page[workflow.VersionInfo], error) {
					return sound.Versions(ctx, "a0000000-0000-7000-8000-000000000001", id, q)
				}
			},
		},
		{
			"workflows are listed newest first, then by id from the highest", "at equal times the lowest id comes first",
			func(b *broken, sound stores) {
				b.WorkflowsFunc = func(ctx context.Context, t tenantID, q store.PageQuery) (store.Page[workflow.Workflow], error) {
					p, err := sound.Workflows(ctx, t, q)
					slices.SortFunc(p.Data, func(a, b workflow.Workflow) int {
						return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
					})
					return p, err
				}
			},
		},
		{"two tenants have separate workflows", "workflows are kept by their id alone", func(b *broken, sound stores) {
			owners := memo[verification.WorkflowID, tenantID]{}
			b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				owners.set(w.ID, t)
				return sound.SaveWorkflow(ctx, t, w, added)
			}
			b.WorkflowFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID) (workflow.Workflow, error) {
				if owner, ok := owners.get(id); ok {
					t = owner
				}
				return sound.Workflow(ctx, t, id)
			}
		}},
		{"two tenants have separate workflows", "Version ignores the tenant", func(b *broken, sound stores) {
			kept := memo[string, workflow.Version]{}
			b.SaveWorkflowFunc = func(ctx context.Context, t tenantID, w workflow.Workflow, added *workflow.Version) error {
				if added != nil {
					kept.set(added.Hash, *added)
				}
				return sound.SaveWorkflow(ctx, t, w, added)
			}
			b.VersionFunc = func(ctx context.Context, t tenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
				if v, ok := kept.get(hash); ok {
					return v, nil
				}
				return sound.Version(ctx, t, id, hash)
			}
		}},
	}
}

// readingRows replaces what Row returns for a kind.
func readingRows[R store.Record](kind store.RecordKind, f func(key string, r R, err error) (R, error)) breakage {
	return func(b *broken, sound stores) {
		b.RowFunc = func(ctx context.Context, of store.RecordKind, key string) (store.Record, error) {
			row, err := sound.Row(ctx, of, key)
			if of != kind {
				return row, err
			}
			r, _ := row.(R)
			return f(key, r, err)
		}
	}
}

func tenantBreaches() []breach {
	return []breach{
		{"a tenant is returned as it was saved", "Row sorts the allowlist", readingRows(store.RecordTenant, func(_ string, r store.TenantRecord, err error) (store.TenantRecord, error) {
			r.Tenant.RedirectAllowlist = slices.Sorted(slices.Values(r.Tenant.RedirectAllowlist))
			return r, err
		})},
		{"a tenant whose id is no UUID is refused", "Change takes any id", func(b *broken, _ stores) {
			b.ChangeFunc = func(context.Context, []store.Record) error { return nil }
		}},
		{"a logo is returned with its content", "the first logo of a tenant stays", func(b *broken, sound stores) {
			first := map[string]store.TenantRecord{}
			readingRows(store.RecordLogo, func(key string, r store.TenantRecord, err error) (store.TenantRecord, error) {
				if _, ok := first[key]; !ok {
					first[key] = r
				}
				return first[key], err
			})(b, sound)
		}},
		{"a logo without content keeps the stored content", "Change drops the content", func(b *broken, sound stores) {
			empty := false
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				r, ok := rows[0].(store.TenantRecord)
				empty = ok && len(r.Tenant.Logo.Content) == 0
				return sound.Change(ctx, rows)
			}
			readingRows(store.RecordLogo, func(_ string, r store.TenantRecord, err error) (store.TenantRecord, error) {
				if empty {
					r.Tenant.Logo.Content = nil
				}
				return r, err
			})(b, sound)
		}},
		{"a missing logo is not found", "Row makes one up", readingRows(store.RecordLogo, func(_ string, r store.TenantRecord, err error) (store.TenantRecord, error) {
			if errors.Is(err, verification.ErrNotFound) {
				return store.TenantRecord{Tenant: verification.Tenant{Logo: verification.Logo{Name: "none.png"}}}, nil
			}
			return r, err
		})},
		{"an unknown tenant is not found", "Row makes one up", readingRows(store.RecordTenant, func(key string, r store.TenantRecord, err error) (store.TenantRecord, error) {
			if errors.Is(err, verification.ErrNotFound) {
				return store.TenantRecord{Tenant: verification.Tenant{ID: tenantID(key)}}, nil
			}
			return r, err
		})},
		{"an account is returned as it was saved", "Row forgets that it is disabled", readingRows(store.RecordAccount, func(_ string, r store.AccountRecord, err error) (store.AccountRecord, error) {
			r.Account.Disabled = false
			return r, err
		})},
		{"an unknown account is not found", "Row takes a client id in any case", func(b *broken, sound stores) {
			b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				return sound.Row(ctx, kind, strings.ToLower(key))
			}
		}},
		{"tenants and accounts are listed in order", "Rows comes with the logos", func(b *broken, sound stores) {
			b.RowsFunc = func(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
				all, err := sound.Rows(ctx, q)
				for i := range all.Data {
					if r, err := sound.Row(ctx, store.RecordLogo, store.KeyOf(all.Data[i])); err == nil {
						all.Data[i] = r
					}
				}
				return all, err
			}
		}},
		{"tenants and accounts are listed in order", "Rows lists the last account first", func(b *broken, sound stores) {
			b.RowsFunc = func(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
				all, err := sound.Rows(ctx, q)
				if q.Kind == store.RecordAccount {
					slices.Reverse(all.Data)
				}
				return all, err
			}
		}},
		{"an account is returned as it was saved", "Row forgets that a file lists it", readingRows(store.RecordAccount, func(_ string, r store.AccountRecord, err error) (store.AccountRecord, error) {
			r.Account.FromFile = false
			return r, err
		})},
		{"a client id belongs to one tenant", "Change hands it over", func(b *broken, sound stores) {
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				err := sound.Change(ctx, rows)
				if errors.Is(err, verification.ErrConflict) {
					return nil
				}
				return err
			}
		}},
	}
}
