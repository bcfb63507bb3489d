package pgadmin_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

func TestTheFileThatWasAppliedLastIsTheNewest(t *testing.T) {
	s := fresh(t)
	one, two := pgadmin.AppliedFile{Hash: "one", Names: `{"lists": []}`}, pgadmin.AppliedFile{Hash: "two", Names: "{}"}
	for _, step := range []struct{ save, newest, before pgadmin.AppliedFile }{{save: one, newest: one}, {two, two, one}, {one, one, two}} {
		must(t, pgadmin.Of(s).SaveAppliedFile(t.Context(), step.save))
		got, err := pgadmin.Of(s).AppliedFiles(t.Context())
		must(t, err)
		want := []pgadmin.AppliedFile{step.newest}
		if step.before.Hash != "" {
			want = append(want, step.before)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(pgadmin.AppliedFile{}, "AppliedAt")); diff != "" {
			t.Errorf("after %s the files differ (-want +got):\n%s", step.save.Hash, diff)
		}
		if since := time.Since(got[0].AppliedAt); since < -time.Minute || since > time.Minute {
			t.Errorf("%s was applied %s ago, want now", got[0].Hash, since)
		}
	}
}

func TestAFileThatCannotBeStoredIsInvalid(t *testing.T) {
	s := fresh(t)
	for _, text := range []string{"a\x00b", "a\xffb"} {
		if err := pgadmin.Of(s).SaveAppliedFile(t.Context(), pgadmin.AppliedFile{Hash: text}); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("SaveAppliedFile(%q) = %v, want ErrInvalid", text, err)
		}
	}
}
