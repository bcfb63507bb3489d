// Tests of redelivering many notices, and of stopping at a failure.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
)

func TestAllFailedNoticesAreFoundHoweverManyPagesTheyFill(t *testing.T) {
	r := newRemembered()
	const failed = 2*verification.MaxLimit + 1
	for i := range failed + 10 {
		d := verification.Delivery{
			Run: verification.RunID(fmt.Sprintf("00000000-0000-7000-8000-%012x", i)), State: verification.DeliveryFailed,
			LastAt: enginetest.Began(),
		}
		if i >= failed {
			d.State = verification.DeliveryDelivered
		}
		if err := r.SaveDelivery(t.Context(), tenant, d); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := failedNotices(t.Context(), &database{ports: r}, tenant)
	if err != nil || len(runs) != failed {
		t.Errorf("found %d notices, %v; want %d", len(runs), err, failed)
	}
}

// lost is a store whose database goes away after some histories.
type lost struct {
	ports
	left int
}

func (l *lost) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	if l.left--; l.left < 0 {
		return nil, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "database", Message: "the database does not answer", Cause: errors.New("it is\n\tgone"),
		}
	}
	return l.ports.Load(ctx, t, id, after)
}

func TestADatabaseThatGoesAwayStopsARedelivery(t *testing.T) {
	w := onMemory(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	one, two := w.start(records, "firm-1").ID, w.start(records, "firm-2").ID
	w.kit.Settle()
	w.heard()
	open := w.server.open
	w.server.open = func(ctx context.Context, url string) (*database, error) {
		db, err := open(ctx, url)
		if err == nil {
			db.ports = &lost{ports: db.ports, left: 1}
		}
		return db, err
	}
	w.ctl(fmt.Sprintf("webhook redeliver --tenant TENANT %s %s %s", one, two, one))
	got := string(w.heard())
	want := fmt.Sprintf("RUN_ID                                QUEUED  ERROR\n%s  yes     -\nstderr: verifyctl: database: the database does not answer: it is gone\nexit 2\n", one)
	if !strings.HasSuffix(got, want) {
		t.Errorf("redeliver says\n%s\nwant\n%s", got, want)
	}
}
