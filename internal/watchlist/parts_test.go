// Tests of names that consist of several names.

package watchlist_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// publishedParties are names of entities on the consolidated list of the UN and in the annexes of
// resolutions 1737 and 1747, and what a customer of this name may be called.
func publishedParties() map[string][]string {
	return map[string][]string{
		"HAQQANI NETWORK (HQN)":          {"Haqqani Network", "HQN", "hqn", "The Haqqani Network"},
		"ADF (ALLIED DEMOCRATIC FORCES)": {"Allied Democratic Forces", "ADF"},
		"COMPAGNIE AERIENNE DES GRANDS LACS (CAGL); GREAT LAKES BUSINESS COMPANY (GLBC)": {"Compagnie Aérienne des Grands Lacs", "Great Lakes Business Company", "CAGL", "GLBC"},
		"HARAKAT UL-MUJAHIDIN / HUM":                                               {"Harakat ul-Mujahidin", "Harakat-ul-Mujahideen", "HUM"},
		"UGANDA COMMERCIAL IMPEX (UCI) LTD":                                        {"Uganda Commercial Impex Ltd", "UCI", "Uganda Commercial Impex (UCI) Limited"},
		"Novin Energy Company (aka Pars Novin)":                                    {"Novin Energy Company", "Pars Novin", "Novin Energy Co. a.k.a. Pars Novin"},
		"Cruise Missile Industry Group (aka Naval Defence Missile Industry Group)": {"Cruise Missile Industry Group", "Naval Defence Missile Industry Group"},
		"Kala-Electric (aka Kalaye Electric) (provider for PFEP – Natanz)":         {"Kala Electric", "Kalaye Electric", "Kalaye Electric Company"},
		"Mesbah Energy Company (provider for A40 research reactor – Arak)":         {"Mesbah Energy Company", "Mesbah Energy"},
		"Esfahan Nuclear Fuel Research and Production Centre (NFRPC) and Esfahan Nuclear Technology Centre (ENTC)": {
			"Esfahan Nuclear Fuel Research and Production Centre", "Esfahan Nuclear Technology Centre", "NFRPC", "ENTC",
		},
	}
}

// The names of a person on both sides of @ find the entry, and are found by it.
func TestANameBesideAtIsFound(t *testing.T) {
	const both, other = "Tan Ah Velm @ Chen Ah Zamo", "Chen Ah Zamo"
	for listed, given := range map[string][]string{both: {both, other, "Tan Ah Velm", "chen ah zamo"}, other: {both, "TAN AH VELM@CHEN AH ZAMO", "Ordrun Orlov @ Chen Ah Zamo"}} {
		l := watchlist.ListOf(watchlist.Entry{ID: "e", Name: listed, Person: true})
		for _, name := range given {
			if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: name}); len(hits) != 1 || hits[0].Score < 0.95 {
				t.Errorf("%s does not find %s: %+v", name, listed, hits)
			}
		}
		if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: "Orlov orlov@zamo.example"}); len(hits) > 0 {
			t.Errorf("a mail address finds %s: %+v", listed, hits)
		}
	}
}

// A party is found under each of its names in each format, as a name and as an alias.
func TestEachOfSeveralNamesIsFound(t *testing.T) {
	escaped := func(text string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(text))
		return b.String()
	}
	quoted := func(text string) string { return strings.ReplaceAll(text, `"`, `""`) }
	files := map[string]func(name string) string{
		"csv": func(name string) string { return "id,name,kind\ne,\"" + quoted(name) + "\",company\n" },
		"csv alias": func(name string) string {
			return "id,name,kind,aliases\ne,Ordrun Works,company,\"\"\"" + quoted(name) + "\"\"\"\n"
		},
		"ftm": func(name string) string {
			return fmt.Sprintf(`{"id":"e","schema":"Company","properties":{"name":[%q]}}`, name)
		},
		"un": func(name string) string {
			return "<CONSOLIDATED_LIST><ENTITIES><ENTITY><DATAID>e</DATAID><FIRST_NAME>" + escaped(name) + "</FIRST_NAME></ENTITY></ENTITIES></CONSOLIDATED_LIST>"
		},
		"un alias": func(name string) string {
			return "<CONSOLIDATED_LIST><ENTITIES><ENTITY><DATAID>e</DATAID><FIRST_NAME>Ordrun</FIRST_NAME><ENTITY_ALIAS><QUALITY>a.k.a.</QUALITY><ALIAS_NAME>" + escaped(name) + "</ALIAS_NAME></ENTITY_ALIAS></ENTITY></ENTITIES></CONSOLIDATED_LIST>"
		},
		"eu": func(name string) string {
			return `<export><sanctionEntity euReferenceNumber="e"><subjectType code="enterprise"/><nameAlias wholeName="` + escaped(name) + `"/></sanctionEntity></export>`
		},
		"uk": func(name string) string {
			return "<Designations><Designation><UniqueID>e</UniqueID><IndividualEntityShip>Entity</IndividualEntityShip><Names><Name><Name6>" + escaped(name) + "</Name6><NameType>Primary Name</NameType></Name></Names></Designation></Designations>"
		},
		"ofac": func(name string) string {
			return "<sdnList><sdnEntry><uid>e</uid><sdnType>Entity</sdnType><lastName>" + escaped(name) + "</lastName></sdnEntry></sdnList>"
		},
		"ofac alias": func(name string) string {
			return "<sdnList><sdnEntry><uid>e</uid><sdnType>Entity</sdnType><lastName>Ordrun</lastName><akaList><aka><category>strong</category><lastName>" + escaped(name) + "</lastName></aka></akaList></sdnEntry></sdnList>"
		},
		"conlist.csv": func(name string) string {
			return "Last Updated,2026\nName 6,Group Type,Alias Type,Group ID\n\"" + quoted(name) + "\",Entity,Primary name,e\n"
		},
	}
	for format, file := range files {
		for listed, given := range publishedParties() {
			l, err := watchlist.Read(t.Context(), strings.NewReader(file(listed)), watchlist.Format{})
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			for _, name := range append(given, listed, given[0]+" (Zamoy Works)") {
				if hits := find(t, l, watchlist.Subject{Kind: names.Company, Name: name}); len(hits) != 1 || hits[0].ID != "e" {
					t.Errorf("%s: %s does not find %s: %+v", format, name, listed, hits)
				}
			}
		}
	}
}

func TestARemarkInCommonFindsNobody(t *testing.T) {
	l := watchlist.ListOf(
		watchlist.Entry{ID: "branch", Name: "Zarubin Plant (Northern Branch)", Company: true},
		watchlist.Entry{ID: "offshore", Name: "Golden Perch SAL (Offshore)", Company: true},
		watchlist.Entry{ID: "place", Name: "Velmor (Rheinland) Works AG", Company: true},
		watchlist.Entry{ID: "dead", Name: "Viktor Zamoyskov (deceased)", Person: true},
	)
	for _, name := range []string{"Orlovsk Plant (Northern Branch)", "Silver Lake SAL (Offshore)", "Northern Branch", "Offshore", "Ravi Kumar (deceased)", "Silvas (Golden)", "Ordrun (Rheinland) Motors AG"} {
		for _, kind := range []names.Kind{names.Person, names.Company} {
			if hits := find(t, l, watchlist.Subject{Kind: kind, Name: name}); len(hits) > 0 {
				t.Errorf("%s %s finds %+v", kind, name, hits)
			}
		}
	}
}

func TestReasonsSayWhichPartIsTheSame(t *testing.T) {
	l := watchlist.ListOf(watchlist.Entry{ID: "e", Name: "Velmor Network (VLN)", Company: true})
	for name, want := range map[string]watchlist.Hit{
		"Velmor Network (VLN)":  {Reasons: []string{"the name is the same"}},
		"velmor network":        {Alias: "Velmor Network", Reasons: []string{"the name is the same as a part of the listed name"}},
		"Ordrun a.k.a. VLN":     {Alias: "VLN", Reasons: []string{"a part of the name is the same: VLN", "only a part of one short word is the same"}},
		"VLN":                   {Alias: "VLN", Reasons: []string{"the name is the same as a part of the listed name", "only a part of one short word is the same"}},
		"Velmor Network (Zamo)": {Alias: "Velmor Network", Reasons: []string{"a part of the name is the same: Velmor Network"}},
		"Velmoor Network / Zamo": {Alias: "Velmor Network", Reasons: []string{
			"a part of the name is compared: Velmoor Network", "Network is the same", "Velmoor is like Velmor: 0.93, spelling",
		}},
	} {
		hits := find(t, l, watchlist.Subject{Kind: names.Company, Name: name})
		if len(hits) != 1 {
			t.Errorf("%s finds %+v", name, hits)
			continue
		}
		if diff := cmp.Diff(want, watchlist.Hit{Alias: hits[0].Alias, Reasons: hits[0].Reasons}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheSelfTestReportsPartsApart(t *testing.T) {
	l := watchlist.ListOf(
		watchlist.Entry{ID: "a", Name: "Velmor Network (VLN)", Aliases: []string{"Velmor a.k.a. Nordic Volga"}, Company: true},
		watchlist.Entry{ID: "b", Name: "Viktor Zamoyskov", Person: true},
	)
	tested, err := l.SelfTest(t.Context(), 0, time.Now)
	if err != nil || tested.Names != 3 || tested.Parts != 4 || len(tested.Lost) > 0 {
		t.Errorf("%+v, %v, want 3 names and 4 parts, found", tested, err)
	}
	l.ForgetExactNames()
	l.ForgetKeys()
	tested, err = l.SelfTest(t.Context(), 0, time.Now)
	lost := 0
	for _, name := range tested.Lost {
		if name.Part {
			lost++
		}
	}
	if err != nil || lost != 4 || len(tested.Lost) != 7 {
		t.Errorf("without any lookup: %+v, %v, want 3 names and 4 parts lost", tested, err)
	}
}

func TestPartsOfAnEntryAreBounded(t *testing.T) {
	var aliases []string
	for i := range 2000 {
		aliases = append(aliases, fmt.Sprintf("Velmor Zamoy%d; Nordic Volga%d (Orlov Front%d)", i, i, i))
	}
	l := watchlist.ListOf(watchlist.Entry{ID: "e", Name: "Viktor Zamoyskov", Aliases: aliases, Person: true})
	if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: "orlov FRONT1999"}); len(hits) != 1 {
		t.Errorf("the part of the last alias finds %+v", hits)
	}
	if got := l.Uncompared; got < 6000+1500 {
		t.Errorf("%d names are counted as not compared, want those after the 500th", got)
	}
}

// A customer's name with more names than are searched is flagged.
func TestACustomerWithVeryManyNamesIsFlagged(t *testing.T) {
	l := watchlist.ListOf(viktor)
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("Velmor Nordic%c", 'a'+i%26))
	}
	found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: strings.Join(append(all, "Viktor Zamoyskov"), "; ")}, 0.85)
	if err != nil || !slices.ContainsFunc(found.Doubts, func(doubt string) bool { return strings.Contains(doubt, "more than 16 names") }) {
		t.Errorf("%+v, %v, want a doubt", found, err)
	}
}

func TestPartsDoNotChangeTheDigest(t *testing.T) {
	l := watchlist.ListOf(watchlist.Entry{ID: "e", Name: "Velmor Network (VLN)", Company: true}, watchlist.Entry{ID: "e", Name: "Velmor Network (VLN)", Aliases: []string{"VLN"}, Company: true})
	hits := find(t, l, watchlist.Subject{Kind: names.Company, Name: "Velmor Network"})
	if len(hits) != 2 || hits[0].Digest == hits[1].Digest {
		t.Errorf("hits %+v: want two digests, since an alias is not a part", hits)
	}
}
