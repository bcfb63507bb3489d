package storetest_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Short names for the arguments and results of the ports.
type (
	tenantID = verification.TenantID
	runID    = verification.RunID
	runRef   = verification.RunRef
	summary  = rules.Summary
	event    = rules.Event
	record   = store.IdempotencyRecord
	work     = store.Work
)

// broken is a working store except for the methods that a test replaces.
type broken struct {
	*mock.RunStoreMock
	*mock.WorkQueueMock
	*mock.WorkflowStoreMock
	*mock.SetupStoreMock
	*mock.AuditStoreMock
	*mock.DocumentStoreMock
	*mock.MeasureStoreMock
	*mock.RescreenStoreMock
	*mock.RetentionStoreMock
	*mock.RowStoreMock
	*mock.CopyStoreMock
}

// stores are a working Store and DocumentStore.
type stores struct {
	store.Store
	store.Tables // over the Store
	store.CopyStore
	verification.DocumentStore
}

func working() stores {
	m := memory.New()
	return stores{m, m.Tables, m, blob.Memory(100<<20, 100<<20)}
}

// broken returns a store that calls s except where change replaces a method.
func (s stores) broken(change breakage) *broken {
	b := &broken{
		&mock.RunStoreMock{AppendFunc: s.Append, ClaimFunc: s.Claim, ListFunc: s.List, LoadFunc: s.Load, CountQueuesFunc: s.CountQueues},
		&mock.WorkQueueMock{
			FinishFunc: s.Finish, PostponeFunc: s.Postpone, ReleaseFunc: s.Release, RenewFunc: s.Renew, TakeFunc: s.Take,
		},
		&mock.WorkflowStoreMock{
			SaveWorkflowFunc: s.SaveWorkflow, VersionFunc: s.Version, VersionsFunc: s.Versions,
			WorkflowFunc: s.Workflow, WorkflowsFunc: s.Workflows,
		},
		&mock.SetupStoreMock{SaveSetupFunc: s.SaveSetup},
		&mock.AuditStoreMock{AppendAuditFunc: s.AppendAudit, AuditEntriesFunc: s.AuditEntries},
		&mock.DocumentStoreMock{
			DocumentFunc: s.Document, OpenDocumentFunc: s.OpenDocument,
			RemoveDocumentFunc: s.RemoveDocument, RemoveDocumentsFunc: s.RemoveDocuments, SaveDocumentFunc: s.SaveDocument,
		},
		&mock.MeasureStoreMock{MeasuresFunc: s.Measures},
		&mock.RescreenStoreMock{HoldPassFunc: s.HoldPass},
		&mock.RetentionStoreMock{
			StartedRunsFunc: s.StartedRuns, ForgetFunc: s.Forget,
		},
		&mock.RowStoreMock{RowFunc: s.Row, RowsFunc: s.Rows, ChangeFunc: s.Change},
		&mock.CopyStoreMock{
			RecordsFunc: s.Records, SaveRecordsFunc: s.SaveRecords,
		},
	}
	change(b, s)
	return b
}

// breakage replaces methods of b, which calls sound.
type breakage = func(b *broken, sound stores)

// memo is the state of a broken store.
type memo[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

func (m *memo[K, V]) get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.of[k]
	return v, ok
}

func (m *memo[K, V]) set(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[K]V{}
	}
	m.of[k] = v
}

func (m *memo[K, V]) keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []K
	for k := range m.of {
		all = append(all, k)
	}
	return all
}

// The keys of a run's advance, of the notice of its end, and of its deadline.
var (
	expireKey   = store.WorkKey{Kind: store.WorkExpire}
	advanceKey  = store.WorkKey{Kind: store.WorkAdvance}
	announceKey = store.WorkKey{Kind: store.WorkAnnounce}
)

// due replaces the due time of a piece of work in a commit; zero removes it.
func due(c *store.Commit, key store.WorkKey, at time.Time) {
	if c.Work = maps.Clone(c.Work); c.Work != nil {
		c.Work[key] = at
	}
}

// requeue replaces the advance of a run; zero removes it.
func requeue(ctx context.Context, s store.Store, run runRef, at time.Time) error {
	history, err := s.Load(ctx, run.Tenant, run.Run, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return nil // there is nothing to break
	}
	if err != nil {
		return err
	}
	a := store.Commit{Summary: rules.Fold(run.Run, history).Summary(), Work: store.AdvanceAt(at)}
	return s.Append(ctx, run.Tenant, run.Run, len(history), a)
}
