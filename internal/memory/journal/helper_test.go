package journal_test

import (
	"context"
	"testing"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

func openIn(t testing.TB, dir string, o journal.Options) *journal.Store {
	t.Helper()
	s, err := journal.Open(context.WithoutCancel(t.Context()), dir, o) // also in a cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // most tests have closed it
	return s
}

func closed(t testing.TB, s *journal.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
