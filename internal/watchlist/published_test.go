// Tests of lists as they are published. The files in testdata/lists are ours: they follow the
// published schemas, and their people and companies are fictional.

package watchlist_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// listFiles returns the files, with what their content does not say of their format.
func listFiles() map[string]watchlist.Format {
	return map[string]watchlist.Format{
		// OFAC: the schemas XML, ADVANCED_XML and ENHANCED_XML of the Sanctions List Service; the consolidated
		// list has that of the SDN list.
		"sdn.xml": {}, "consolidated.xml": {}, "sdn_advanced.xml": {}, "sdn_enhanced.xml": {},
		"un_consolidated.xml": {}, // sc-sanctions.xsd
		"eu_1_1.xml":          {}, // the namespace http://eu.europa.ec/fpi/fsd/export, version 1.1
		// The formats of the UK Sanctions List of 2025, and the last one of OFSI's list.
		"uk_sanctions_list.xml": {}, "uk_sanctions_list.csv": {}, "ConList.csv": {},
		"targets.simple.csv": {}, "targets.simple.csv.gz": {}, "entities.ftm.json": {}, // OpenSanctions, 2026
		// The Consolidated Screening List of the International Trade Administration, as it is downloaded.
		"csl.csv": {}, "csl.json": {},
		"own_semicolon.csv": {Columns: map[string]string{
			"id": "ref", "name": "full name", "kind": "type", "aliases": "aka", "birth_date": "born", "countries": "nation",
		}},
		"own_pipe_1252.csv": {Encoding: "windows-1252"}, "own_tab_utf16.csv": {},
	}
}

func openPublished(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "lists", file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestPublishedListsAreReadAsTheyAre(t *testing.T) {
	for file, format := range listFiles() {
		l, err := watchlist.Read(t.Context(), bytes.NewReader(openPublished(t, file)), format)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "format: %s\n", l.Format)
		for _, u := range l.Unread {
			fmt.Fprintf(&b, "not read: %s\n", u)
		}
		for _, c := range l.Columns {
			fmt.Fprintf(&b, "column %s (%s): %d read, %d not read %q\n", c.Name, c.ReadAs, c.Read, c.Unread, c.Examples)
		}
		for _, e := range l.All() {
			kind := map[[2]bool]string{{true, false}: "person", {false, true}: "company", {true, true}: "person or company"}[[2]bool{l.Has(names.Person, e.ID), l.Has(names.Company, e.ID)}]
			fmt.Fprintf(&b, "\n%s: %s\n", e.ID, kind)
			line(&b, "names", e.Aliases)
			parts, exact := e.Parts()
			line(&b, "parts", parts)
			line(&b, "parts as written", exact)
			line(&b, "born", e.BirthDates)
			line(&b, "countries", e.Countries)
			line(&b, "topics", e.Topics)
			for _, id := range e.Identifiers {
				fmt.Fprintf(&b, "  %s %s\n", id.Type, id.Value)
			}
		}
		golden.Equal(t, filepath.Join("testdata", "read", file+".txt"), []byte(b.String()))
	}
}

func line(b *strings.Builder, field string, values []string) {
	if len(values) > 0 {
		fmt.Fprintf(b, "  %s: %s\n", field, strings.Join(values, "; "))
	}
}

func TestEachNameOfAPublishedListIsFound(t *testing.T) {
	for file, format := range listFiles() {
		l, err := watchlist.Read(t.Context(), bytes.NewReader(openPublished(t, file)), format)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		tested, err := l.SelfTest(t.Context(), 0, time.Now)
		if err != nil || tested.Names+tested.Parts < l.Names || len(tested.Lost) > 0 {
			t.Errorf("%s: %d of %d names were searched, lost %v, %v", file, tested.Names+tested.Parts, l.Names, tested.Lost, err)
		}
	}
}

// A list says the same in each of its formats.
func TestFormatsOfOneListAgree(t *testing.T) {
	for _, files := range [][]string{{"sdn.xml", "sdn_advanced.xml", "sdn_enhanced.xml"}, {"uk_sanctions_list.xml", "uk_sanctions_list.csv", "ConList.csv"}, {"csl.csv", "csl.json"}} {
		for _, file := range files {
			l, err := watchlist.Read(t.Context(), bytes.NewReader(openPublished(t, file)), watchlist.Format{})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, s := range []watchlist.Subject{
				{Kind: names.Person, Name: "Zamoyskov Viktor Aleksandrovich", BirthDate: "1961-03-14", Countries: []string{"ru"}},
				{Kind: names.Person, Name: "Nobody Else", Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: "750123456"}}},
				{Kind: names.Company, Name: "Korvatek Trading Limited", Countries: []string{"cy"}},
			} {
				got, err := l.Search(s, 0.85)
				if err != nil || len(got.Hits) != 1 || got.Hits[0].Score < 0.95 {
					t.Errorf("%s: a search for %+v finds %+v, %v, want one hit", file, s, got.Hits, err)
				}
			}
			if got, err := l.Search(watchlist.Subject{Kind: names.Company, Name: "Golden Peregrine"}, 0.85); err != nil || len(got.Hits) > 0 {
				t.Errorf("%s: the ship is found as a company: %+v, %v", file, got.Hits, err)
			}
		}
	}
}
