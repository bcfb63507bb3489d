// Tests of what is left of removed rows.

package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/store"
)

// TestARemovedRowIsGoneAfterAVacuumThatSawNoReader vacuums while a reader may see the rows, and afterwards.
func TestARemovedRowIsGoneAfterAVacuumThatSawNoReader(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{EraseWithin: time.Hour})
	id := runNumber(1)
	history := savePersonal(t, s, id)
	reader, err := connect(t, url).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	_, err = reader.Exec(t.Context(), "SELECT count(*) FROM verifyd.hosts")
	must(t, err)
	c := redaction(t, id, history)
	c.Work[store.WorkKey{Kind: store.WorkErase}] = noon()
	must(t, s.Append(t.Context(), ours, id, len(history), c))
	mark, _, err := s.Removed(t.Context(), 0)
	must(t, err)
	now := noon()
	vacuumed := func(later time.Duration) bool {
		t.Helper()
		now = now.Add(later)
		must(t, s.Vacuum(t.Context(), now))
		_, gone, err := s.Removed(t.Context(), mark)
		must(t, err)
		return gone
	}
	if _, gone, err := s.Removed(t.Context(), mark); gone || err != nil {
		t.Errorf("before a vacuum: %t, %v", gone, err)
	}
	if vacuumed(0) {
		t.Error("the rows are gone although a reader may see them")
	}
	must(t, reader.Rollback(t.Context()))
	if vacuumed(time.Minute) {
		t.Error("a vacuum is repeated after a minute")
	}
	if !vacuumed(time.Hour) {
		t.Error("the rows are not gone after a vacuum that saw no reader")
	}
	later, _, err := s.Removed(t.Context(), 0)
	must(t, err)
	if _, gone, err := s.Removed(t.Context(), later); gone || err != nil {
		t.Errorf("what is removed later: %t, %v", gone, err)
	}
}
