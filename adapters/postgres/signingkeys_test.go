package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestHostsThatStartTogetherShareTheirKeys(t *testing.T) {
	url := pgtest.Database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	const meeting = 8
	keys, errs := make([][]byte, meeting), make([]error, meeting)
	var together sync.WaitGroup
	for n := range meeting {
		together.Go(func() {
			host := a
			if n%2 == 1 {
				host = b
			}
			keys[n], errs[n] = host.SigningKeys(t.Context(), func() ([]byte, error) {
				return fmt.Appendf(nil, `{"keys": ["of host %d", "it's \\u0000 %%s ?"]}`, n), nil
			})
		})
	}
	together.Wait()
	must(t, errors.Join(errs...))
	late, err := b.SigningKeys(t.Context(), func() ([]byte, error) {
		t.Error("keys were made again")
		return nil, nil
	})
	must(t, err)
	made := false
	for n := range meeting {
		if string(keys[n]) != string(late) {
			t.Errorf("host %d has the keys %s, a later one %s", n, keys[n], late)
		}
		made = made || string(late) == fmt.Sprintf(`{"keys": ["of host %d", "it's \\u0000 %%s ?"]}`, n)
	}
	if !made {
		t.Errorf("SigningKeys = %s, want one that a host generated", late)
	}
}

func TestKeysThatCannotBeGeneratedAreNotSaved(t *testing.T) {
	s := fresh(t)
	broken := errors.New("no randomness")
	if keys, err := s.SigningKeys(t.Context(), func() ([]byte, error) { return []byte("half"), broken }); !errors.Is(err, broken) || keys != nil {
		t.Errorf("SigningKeys = %s, %v, want %v", keys, err, broken)
	}
	keys, err := s.SigningKeys(t.Context(), func() ([]byte, error) { return []byte("whole"), nil })
	if err != nil || string(keys) != "whole" {
		t.Errorf("SigningKeys = %s, %v, want the second set", keys, err)
	}
}
