// Tests of redelivering many notices, and of an error in between.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestFailedNoticesOfManyPagesAreRedeliveredOnce(t *testing.T) {
	w := onMemory(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	var known []verification.RunID
	for i := range 3 {
		w.kit.Notices.FailWith(&verification.RetryError{Cause: errors.New("gone")})
		known = append(known, w.start(records, fmt.Sprintf("firm-%d", i)).ID)
		w.kit.Settle()
	}
	w.kit.Advance(time.Hour)
	db, err := w.server.open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	const unknown = 2*store.MaxLimit + 1 // runs that do not exist, so that their notices are refused
	for i := range unknown {
		if err := db.tables().SaveDelivery(t.Context(), tenant, rules.Delivery{
			Run:   verification.RunID(fmt.Sprintf("00000000-0000-7000-8000-%012x", i)),
			State: rules.DeliveryFailed, LastAt: enginetest.Began().Add(time.Duration(i%7-3) * time.Second),
		}); err != nil {
			t.Fatal(err)
		}
	}
	var results []redeliveryJSON
	w.decode(w.ctl("webhook redeliver --tenant TENANT --all-failed --json"), &results)
	queued := map[verification.RunID]bool{}
	for _, r := range results {
		if _, twice := queued[r.RunID]; twice {
			t.Errorf("run %s is attempted twice", r.RunID)
		}
		queued[r.RunID] = r.Queued
	}
	if len(queued) != unknown+len(known) {
		t.Errorf("%d notices were attempted, want %d", len(queued), unknown+len(known))
	}
	for _, id := range known {
		if !queued[id] {
			t.Errorf("the notice of run %s was not queued", id)
		}
	}
	if got, want := string(w.transcript()), fmt.Sprintf("stderr: verifyctl: %d of %d notices were not queued", unknown, unknown+len(known)); !strings.Contains(got, want) {
		t.Errorf("the command prints no %q", want)
	}
}

// lost is a store whose database stops answering after some reads of histories.
type lost struct {
	store.Store
	left int
}

func (l *lost) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	if l.left--; l.left < 0 {
		return nil, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "database", Message: "the database does not answer", Cause: errors.New("it is\n\tgone"),
		}
	}
	return l.Store.Load(ctx, t, id, after)
}

func TestARedeliveryStopsWhenTheDatabaseDoesNotAnswer(t *testing.T) {
	w := onMemory(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	one, two := w.start(records, "firm-1").ID, w.start(records, "firm-2").ID
	w.kit.Settle()
	w.transcript()
	open := w.server.open
	w.server.open = func(ctx context.Context, url string) (*database, error) {
		db, err := open(ctx, url)
		if err == nil {
			db.Store = &lost{Store: db.Store, left: 1}
		}
		return db, err
	}
	w.ctl(fmt.Sprintf("webhook redeliver --tenant TENANT %s %s %s", one, two, one))
	got := string(w.transcript())
	want := fmt.Sprintf("WEBHOOK_ID                                QUEUED  ERROR\nrun_%s  yes     -\nstderr: verifyctl: database: the database does not answer: it is gone\nexit 2\n", one)
	if !strings.HasSuffix(got, want) {
		t.Errorf("redeliver says\n%s\nwant\n%s", got, want)
	}
}
