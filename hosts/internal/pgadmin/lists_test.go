package pgadmin_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

func TestWhatIsAcceptedOfAListAddsUp(t *testing.T) {
	db := pgadmin.Of(fresh(t))
	for _, l := range []pgadmin.AcceptedList{
		{List: "b", Entries: 400},
		{List: "a", Entries: 7},
		{List: "b", Versions: []string{"v1"}},
		{List: "b", Entries: 12},
		{List: "b", Versions: []string{"v2"}},
		{List: "b", Versions: []string{"v1"}},
	} {
		must(t, db.SaveAcceptedList(t.Context(), l))
	}
	got, err := db.AcceptedLists(t.Context())
	must(t, err)
	if diff := cmp.Diff([]pgadmin.AcceptedList{{List: "a", Entries: 7}, {List: "b", Entries: 12, Versions: []string{"v1", "v2"}}}, got); diff != "" {
		t.Errorf("the accepted lists differ (-want +got):\n%s", diff)
	}
	if err := db.SaveAcceptedList(t.Context(), pgadmin.AcceptedList{List: "a\x00b"}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a list with a NUL byte: %v, want ErrInvalid", err)
	}
}

func TestNoAcceptanceIsLostToAnother(t *testing.T) {
	db := pgadmin.Of(fresh(t))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := db.SaveAcceptedList(t.Context(), pgadmin.AcceptedList{List: "a", Versions: []string{fmt.Sprint(i)}}); err != nil {
				t.Error(err)
			}
			if err := db.SaveAcceptedList(t.Context(), pgadmin.AcceptedList{List: "a", Entries: 5}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := db.AcceptedLists(t.Context())
	must(t, err)
	if len(got) != 1 || len(got[0].Versions) != 8 || got[0].Entries != 5 {
		t.Errorf("accepted: %+v, want all 8 versions and the entries", got)
	}
}
