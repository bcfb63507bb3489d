// Tests of the audit entries of appends that are committed in groups.

package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// withEntry adds an entry to a commit of run number n.
func withEntry(c store.Commit, n int, unique string) store.Commit {
	c.Audit = []store.AuditEntry{{
		Tenant: ours, ID: store.AuditID(noon(), unique), At: noon(), Actor: verification.Actor{Kind: verification.ActorReviewer, ID: "asha"},
		Action: store.AuditVerdictGiven, Run: runNumber(n), Detail: unique,
	}}
	return c
}

// entriesOf returns the details of all entries of the tenant, in order.
func entriesOf(t *testing.T, s *postgres.Store) (details []string) {
	t.Helper()
	entries, err := s.AuditEntries(t.Context(), ours, store.AuditQuery{Limit: store.MaxAuditLimit})
	must(t, err)
	for _, e := range entries {
		details = append(details, e.Detail)
	}
	slices.Sort(details)
	return details
}

func TestAGroupKeepsTheEntriesOfItsAppends(t *testing.T) {
	s := fresh(t)
	var ids []verification.RunID
	var starts, changes []store.Commit
	for n := range 5 {
		history := life(n, 0, 3)
		first, whole := rules.Fold(runNumber(n), history[:1]), rules.Fold(runNumber(n), history)
		ids = append(ids, runNumber(n))
		starts = append(starts, withEntry(store.NewCommit(rules.Run{}, first, history[:1], time.UTC), n, fmt.Sprint("start ", n)))
		changes = append(changes, withEntry(store.NewCommit(first, whole, history[1:], time.UTC), n, fmt.Sprint("change ", n)))
	}
	got, err := s.AppendTogether(ours, ids, make([]int, len(ids)), starts)
	if err != nil || got != len(ids) {
		t.Fatalf("a group of starts appended %d, %v; want all", got, err)
	}
	changes[2].Work = nil             // it changes only the history
	changes[3].WorkflowRevision = 7   // another one than that of the workflow: refused
	positions := []int{1, 3, 1, 1, 1} // the second is refused, too
	got, err = s.AppendTogether(ours, ids, positions, changes)
	if err != nil || got != 3 {
		t.Fatalf("a group of changes, two of them refused, appended %d, %v; want 3", got, err)
	}
	for n := range changes { // each as it was, under another id
		changes[n] = withEntry(changes[n], n, fmt.Sprint("again ", n))
	}
	got, err = s.AppendTogether(ours, ids, positions, changes)
	if err != nil || got != 0 {
		t.Fatalf("a group that was appended before appended %d, %v; want none", got, err)
	}
	want := []string{"change 0", "change 2", "change 4", "start 0", "start 1", "start 2", "start 3", "start 4"}
	if got := entriesOf(t, s); !slices.Equal(got, want) {
		t.Errorf("the entries are %q, want %q", got, want)
	}
}

func TestAnEntryIsCommittedWithItsAppendOrNotAtAll(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	release := lockHistory(t, url)
	first := make(chan error, 1)
	go func() { first <- s.Append(t.Context(), ours, runNumber(1), 0, withEntry(appendix(1), 1, "held")) }()
	eventually(t, "a writer at work", func() bool { return s.Pool().Stat().AcquiredConns() > 0 })
	const runs = 20
	var done sync.WaitGroup
	errs := make([]error, runs+2)
	for n := 2; n < len(errs); n++ {
		done.Go(func() {
			unique := fmt.Sprintf("run %02d", n)
			if n == 3 { // which the database cannot keep
				unique += "\x00"
			}
			errs[n] = s.Append(t.Context(), ours, runNumber(n), 0, withEntry(appendix(n), n, unique))
		})
	}
	var held error
	eventually(t, "a group of appends that wait", func() bool {
		select {
		case held = <-first: // it does not wait longer than a second
			first <- held
			return true
		default:
			return s.WaitingAppends() == runs-1
		}
	})
	release()
	done.Wait()
	var want []string
	if held = <-first; held == nil {
		want = append(want, "held")
	}
	for n := 2; n < len(errs); n++ {
		if n != 3 {
			want = append(want, fmt.Sprintf("run %02d", n))
		}
		if wanted := map[int]error{3: verification.ErrInvalid}[n]; !errors.Is(errs[n], wanted) {
			t.Errorf("append %d = %v, want %v", n, errs[n], wanted)
		}
	}
	if got := entriesOf(t, s); !slices.Equal(got, want) {
		t.Errorf("the entries are %q, want %q", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	var together, apart int
	const transactions = `SELECT count(DISTINCT a.xmin::text), count(*) FILTER (WHERE a.xmin <> e.xmin) FROM verifyd.audit_entries a
		JOIN verifyd.run_events e ON e.tenant_id = a.tenant_id AND e.run_id::text = a.run_id`
	admin := connect(t, pgtest.Admin(t, url))
	must(t, admin.QueryRow(t.Context(), transactions).Scan(&together, &apart))
	if together >= runs-1 || apart > 0 {
		t.Errorf("%d appends were committed in %d transactions, and %d of them without their entries; want fewer, and none", runs-1, together, apart)
	}
}
