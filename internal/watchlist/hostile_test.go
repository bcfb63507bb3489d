// Tests of files that are no list, or that are made to exhaust a host.

package watchlist_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/watchlist"
)

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAFileThatIsNoListIsRefusedInOneLine(t *testing.T) {
	list := packed(t, "name\nIvan Testov\n")
	sdn := `<sdnList><sdnEntry><uid>1</uid><lastName>Testov</lastName><sdnType>Individual</sdnType>`
	for _, c := range []struct {
		name, text string
		format     watchlist.Format
		want       string
	}{
		{"nothing", " \n", watchlist.Format{}, "the file is empty"},
		{"an archive", "PK\x03\x04abc", watchlist.Format{}, "the file is a zip archive or a spreadsheet: unpack it, or save it as CSV"},
		{"a PDF", "%PDF-1.7", watchlist.Format{}, "the file is a PDF: use the XML or CSV file of the list"},
		{"an array", `[{"id":"1"}]`, watchlist.Format{}, "the file is one JSON array: a list in JSON has one object a line, as entities.ftm.json of OpenSanctions"},
		{"a page", "<!DOCTYPE html>\n<html><body>404</body></html>", watchlist.Format{}, `the file is XML whose first element is "html": known are the XML files of OFAC, the UN, the EU and the UK`},
		{"the CSV of the EU", "fileGenerationDate;Entity_LogicalId;NameAlias_WholeName\n", watchlist.Format{}, "the file is the CSV of the EU: use its XML file, xmlFullSanctionsList_1_1"},
		{"the CSV of OFAC", "36,\"TESTOV\",-0- ,\"CUBA\",-0- \n", watchlist.Format{}, "the file is sdn.csv or another CSV of OFAC, which spreads names over several files: use sdn.xml"},
		{"another format", sdn + `</sdnEntry></sdnList>`, watchlist.Format{Type: watchlist.UN}, "the file seems to be sdn.xml, format ofac, not un: correct format, or leave it out"},
		{"an unknown encoding", "name\nA\n", watchlist.Format{Encoding: "utf-9"}, `encoding: "utf-9" is not known: write a name such as utf-8, windows-1252, iso-8859-2 or utf-16le`},
		{"another encoding", "name\nA B\nM\xfcller\n", watchlist.Format{}, "line 3: the text is not UTF-8: if it has another encoding, write it, such as encoding: windows-1252"},
		{"UTF-16 without a mark", "n\x00a\x00m\x00e\x00\n\x00", watchlist.Format{}, "line 1: the text has NUL bytes: if it is UTF-16, write encoding: utf-16le or utf-16be"},
		{"a gzip file that is cut off", list[:len(list)-9], watchlist.Format{}, "line 3: the gzip file is cut off: copy it again"},
		{"a gzip file that was changed", list[:len(list)-8] + "\x00\x00\x00\x00" + list[len(list)-4:], watchlist.Format{}, "line 3: the gzip file is cut off: copy it again"},
		{"a gzip header alone", "\x1f\x8b", watchlist.Format{}, "the gzip file cannot be read: the gzip file is cut off: copy it again"},
		{"XML that is cut off", sdn, watchlist.Format{}, "line 1: unexpected EOF"},
		{"XML that is broken", "<sdnList>\n<sdnEntry></sdnList>", watchlist.Format{}, "line 2: element <sdnEntry> closed by </sdnList>"},
		{
			"entities", "<?xml version=\"1.0\"?>\n<!DOCTYPE sdnList [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<sdnList><sdnEntry><lastName>&b;</lastName></sdnEntry></sdnList>",
			watchlist.Format{},
			"line 2: the file has a DOCTYPE: no list has one",
		},
		{"an entity without a DOCTYPE", `<sdnList><sdnEntry><lastName>&b;</lastName></sdnEntry></sdnList>`, watchlist.Format{}, "line 1: invalid character entity &b;"},
		{"a deep entry", `<sdnList><sdnEntry>` + strings.Repeat("<a>", 60), watchlist.Format{}, "line 1: elements are nested more than 50 deep"},
		{"deep elements around entries", `<sdnList>` + strings.Repeat("<a>", 60), watchlist.Format{}, "line 1: elements are nested more than 50 deep"},
		{"an entry of many elements", `<sdnList><sdnEntry>` + strings.Repeat("<a/>", 100_000), watchlist.Format{}, "line 1: an entry has more than 100000 elements and attributes"},
		{"a long name", sdn + `<firstName>` + strings.Repeat("x", 3000) + `</firstName></sdnEntry></sdnList>`, watchlist.Format{}, `entry "1" has a value that is too long or has control characters: its name, of 3007 bytes; the limit is 2000`},
		{"no entry", `<sdnList></sdnList>`, watchlist.Format{}, "the list has no person and no company"},
		{"ships only", `<sdnList><sdnEntry><uid>1</uid><lastName>Boat</lastName><sdnType>Vessel</sdnType></sdnEntry></sdnList>`, watchlist.Format{}, "the list has no person and no company"},
		{"a column of other dates", "name,birth_date\nA B,03-14-61\nC D,1970\nE F,05-17-70\n", watchlist.Format{}, "birth_date: 2 of 3 values cannot be read; the first is 99-99-99, in entry \"line-2\": write YYYY-MM-DD, YYYY-MM or YYYY, or leave the column out"},
		{"a column that is no country", "name,countries\nA B,Ruritania\nC D,de;Narnia\nE F,Elbonia\n", watchlist.Format{}, "countries: 3 of 4 values cannot be read; the first is aaaaaaaaa, in entry \"line-2\": write codes of ISO 3166 or names of countries, separated by semicolons, or leave the column out"},
		{"a column that is no number", "name,passport\nA B,yes\nC D,no\n", watchlist.Format{}, "identifiers: 2 of 2 values cannot be read; the first is aaa, in entry \"line-2\": is it the right column?"},
		{"a table of another size", "Report Date: 1\nUnique ID,Name 6,Name type\nA,B\n", watchlist.Format{}, "line 3: it has 2 fields, not 3"},
	} {
		_, err := watchlist.Read(t.Context(), strings.NewReader(c.text), c.format)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// endless repeats a text for ever, and counts what is read.
type endless struct {
	text string
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.n+i)%len(e.text)]
	}
	e.n += len(p)
	return len(p), nil
}

func TestAnEntryWithoutAnEndIsRefusedSoon(t *testing.T) {
	for _, c := range []struct{ name, begin, repeated string }{
		{"text", `<sdnList><sdnEntry><lastName>`, "x"},
		{"an attribute", `<sdnList><sdnEntry a="`, "x"},
		{"a name of an element", `<sdnList><`, "x"},
		{"a comment", `<sdnList><!--`, "x"},
		{"spaces", `<sdnList>`, " "},
		{"attributes", `<sdnList><sdnEntry `, `a="" `},
		{"a row", "name\n", "x"},
		{"a quoted row", "name\n\"", "x\n"},
		{"an object", `{"id":"`, "x"},
		{"a list in an object", `{"id":"a","schema":"Person","properties":{"alias":[`, `"x",`},
	} {
		rest := &endless{text: c.repeated}
		_, err := watchlist.Read(t.Context(), io.MultiReader(strings.NewReader(c.begin), rest), watchlist.Format{})
		if err == nil || rest.n > 32<<20 {
			t.Errorf("%s without an end: %v after %d bytes, want an error within 32 MiB", c.name, err, rest.n)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has several lines: %v", c.name, err)
		}
	}
}

func TestAFileThatUnpacksWithoutAnEndIsRefused(t *testing.T) {
	row := "Ivan Testov" + strings.Repeat(" ", 10_000) + "\n"
	bomb := packed(t, "name\n"+strings.Repeat(row, 10_000))
	_, err := watchlist.Read(t.Context(), strings.NewReader(bomb), watchlist.Format{})
	if want := "the file unpacks to more than 200 times its size"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%d bytes that unpack to 100 MB: %v, want %q", len(bomb), err, want)
	}
}
