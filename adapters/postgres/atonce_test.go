package postgres_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestListsOfOneShapeShareTheirStatements(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true, MaxConns: 1})
	prepared := func() (n int) {
		t.Helper()
		must(t, s.Pool().QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&n))
		return n
	}
	list := func(q store.RunQuery) {
		t.Helper()
		q.Limit, q.Now = 10, noon()
		_, err := s.List(t.Context(), ours, q)
		must(t, err)
	}
	list(store.RunQuery{Workflow: flow})
	before := prepared()
	list(store.RunQuery{Workflow: "c0000000-0000-7000-8000-000000000002"})
	if n := prepared(); n != before {
		t.Errorf("a list of another workflow prepared %d more statements, want none", n-before)
	}
	list(store.RunQuery{Workflow: flow, Status: rules.StatusCompleted})
	if n := prepared(); n != before+2 {
		t.Errorf("a list with another filter prepared %d more statements, want its total and its page", n-before)
	}
}
