// Tests of the ids of entries without one, and of entries that were merged.

package watchlist_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// found returns the hits of a person on a list.
func found(t *testing.T, l *watchlist.List, name string) []watchlist.Hit {
	t.Helper()
	r, err := l.Search(watchlist.Subject{Kind: names.Person, Name: name}, 0.85)
	if err != nil {
		t.Fatal(err)
	}
	return r.Hits
}

func TestAnEntryWithoutAnIDIsKnownByWhatItSays(t *testing.T) {
	const head = "name,kind,aliases,birth_date,countries,topics,passport,remark\n"
	const ivan, piotr, asha = "Ivan Testov,person,Ваня Тестов;I. Testow,1961-03-14,ru,crime,AB 123456,a\n", "Piotr Exempel,,,,,,,\n", "Asha Beispiel,,,,,,,\n"
	base := found(t, read(t, head+piotr+ivan, watchlist.Format{}), "Ivan Testov")[0]
	if strings.HasPrefix(base.ID, "line-") || base.Digest == "" {
		t.Fatalf("the id is %s, the digest %s", base.ID, base.Digest)
	}
	for _, c := range []struct {
		name, file string
		same       bool
	}{
		{"a line above is inserted", head + piotr + asha + ivan, true},
		{"a line above is removed", head + ivan, true},
		{"it moves to the end", head + ivan + piotr + asha, true},
		{"columns change places", "kind,birth_date,name,passport,aliases,topics,countries\nperson,1961-03-14,Ivan Testov,AB 123456,I. Testow;Ваня Тестов,crime,Russia\n", true},
		{"a column that is not read", head + strings.Replace(ivan, ",a\n", ",b\n", 1), true},
		{"another alias", head + strings.Replace(ivan, "I. Testow", "I. Testow;Wanja", 1), false},
		{"another date", head + strings.Replace(ivan, "1961", "1962", 1), false},
		{"another number", head + strings.Replace(ivan, "123456", "123457", 1), false},
		{"another topic", head + strings.Replace(ivan, "crime", "fraud", 1), false},
		{"another country", head + strings.Replace(ivan, ",ru,", ",by,", 1), false},
		{"another kind", head + strings.Replace(ivan, "person", "", 1), false},
	} {
		hit := found(t, read(t, c.file, watchlist.Format{}), "Ivan Testov")[0]
		if (hit.ID == base.ID) != c.same {
			t.Errorf("%s: the id is %s, and was %s; want the same: %t", c.name, hit.ID, base.ID, c.same)
		}
	}
	twice := found(t, read(t, head+ivan+piotr+ivan, watchlist.Format{}), "Ivan Testov")
	if len(twice) != 1 || twice[0].ID != base.ID {
		t.Errorf("a line that is repeated: %+v, want one hit", twice)
	}
	named := found(t, read(t, "id,name\na,Ivan Testov\na,Ivan Testov\nline-2,Ivan Testov\n", watchlist.Format{}), "Ivan Testov")
	if len(named) != 3 || len(named[0].Formerly) != 0 {
		t.Errorf("entries with ids: %+v, want them as they are", named)
	}
}

func TestEveryFormatKnowsEntriesWithoutAnID(t *testing.T) {
	for name, c := range map[string][2]string{
		"csl in CSV": {
			"source,entity_number,type,name,alt_names\nSDN,,Individual,Piotr Exempel,\nSDN,,Individual,Ivan Testov,\n", "source,entity_number,type,name,alt_names\nSDN,,Individual,Ivan Testov,\n",
		},
		"csl in JSON": {
			`{"results":[{"source":"SDN","name":"Piotr Exempel","type":"Individual"},{"source":"SDN","name":"Ivan Testov","type":"Individual"}]}`,
			`{"results":[{"source":"SDN","name":"Ivan Testov","type":"Individual"}]}`,
		},
	} {
		before, after := found(t, read(t, c[0], watchlist.Format{Type: watchlist.CSL}), "Ivan Testov"), found(t, read(t, c[1], watchlist.Format{Type: watchlist.CSL}), "Ivan Testov")
		if len(before) != 1 || len(after) != 1 || before[0].ID != after[0].ID {
			t.Errorf("%s: %+v, then %+v; want one id", name, before, after)
		}
	}
}

func TestAMergedEntityHasItsEarlierIDs(t *testing.T) {
	const entity = `{"id":"NK-2","caption":"Ivan Testov","schema":"Person","target":true,"referents":["NK-1","NK-2","ofac-7"],"properties":{"name":["Ivan Testov"],"birthDate":["1961"]}}` + "\n"
	hit := found(t, read(t, entity, watchlist.Format{}), "Ivan Testov")[0]
	if hit.ID != "NK-2" || !slices.Equal(hit.Formerly, []string{"NK-1", "ofac-7"}) || !slices.Equal(hit.BirthDates, []string{"1961"}) {
		t.Errorf("the hit is %+v, want the ids of before", hit)
	}
	parts := strings.ReplaceAll(entity, `"Ivan Testov"`, `"Ivan Testov (a.k.a. Piotr Exempel)"`)
	if hits := found(t, read(t, parts, watchlist.Format{}), "Piotr Exempel"); len(hits) != 1 || !slices.Equal(hits[0].Formerly, []string{"NK-1", "ofac-7"}) {
		t.Errorf("an entity with parts of names: %+v", hits)
	}
	none := strings.ReplaceAll(entity, `["NK-1","NK-2","ofac-7"]`, "null")
	if hits := found(t, read(t, none, watchlist.Format{}), "Ivan Testov"); len(hits) != 1 || hits[0].Formerly != nil || hits[0].Digest != hit.Digest {
		t.Errorf("an entity without: %+v, want the same digest and no ids", hits)
	}
}
