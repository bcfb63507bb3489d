// Tests of the commands about screening.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const fictional = "../verifyd/demo/fictional-list.csv"

// screen runs a command of verifyctl screening without a database.
func screen(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, problems bytes.Buffer
	s := bare(&out, &problems)
	s.stdin = strings.NewReader(stdin)
	code = run(t.Context(), append([]string{"screening"}, args...), s)
	return out.String(), problems.String(), code
}

func TestSearchShowsMatchesAndWhy(t *testing.T) {
	out, problems, code := screen(t, "", "search", fictional, "Victor Zamoyskov", "--birth-date", "1961")
	for _, want := range []string{"fictional-001", "Viktor Aleksandrovich Zamoyskov", "Victor is", "the year of birth is the same: 1961-03-14"} {
		if !strings.Contains(out, want) {
			t.Errorf("output without %q:\n%s", want, out)
		}
	}
	if code != exitDone || problems != "" {
		t.Errorf("exit code %d, stderr %q", code, problems)
	}
	for _, country := range []string{"mh", "MHL", "Marshall Islands"} {
		out, _, _ = screen(t, "", "search", fictional, "Golden Peregrine", "--kind", "company", "--country", country, "--json")
		var found searchJSON
		if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Hits) != 1 || found.Hits[0].ID != "fictional-102" || len(found.Version) != 64 ||
			!slices.Contains(found.Hits[0].Reasons, "a country is the same: Marshall Islands") {
			t.Errorf("JSON %s, %v, want one hit of the country %s and the version of the list", out, err, country)
		}
	}
	entities := filepath.Join(t.TempDir(), "entities.ftm.json")
	if err := os.WriteFile(entities, []byte(`{"id":"e1","schema":"Person","properties":{"name":["Ivan Testov"],"topics":["sanction"]}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, problems, _ = screen(t, "", "search", entities, "Ivan Testov"); !strings.Contains(out, "e1") {
		t.Errorf("output %q, %q, want the entry of a FollowTheMoney file, which is recognized by its content", out, problems)
	}
}

func TestScreeningRefusesArgumentsThatMeanNothing(t *testing.T) {
	for line, want := range map[string]string{
		"search " + fictional + " Asha --review-at 0.49":      "--review-at: must be 0.5 to 1",
		"search " + fictional + " Asha --review-at 1.01":      "--review-at: must be 0.5 to 1",
		"search " + fictional + " Asha --birth-date 1.1.1961": "--birth-date: must be YYYY, YYYY-MM or YYYY-MM-DD, and a date on which a person can have been born",
		"search " + fictional + " Asha --birth-date 2569":     "--birth-date: must be YYYY, YYYY-MM or YYYY-MM-DD, and a date on which a person can have been born",
		"search " + fictional + " Asha --country Indja":       "--country: \"Indja\" is not a country: give its name or its code, such as India, IN, IND or 356",
		"compare Asha":            "give two names, or --csv and pairs on stdin",
		"compare Asha Rao --csv":  "give two names, or --csv and pairs on stdin",
		"compare Asha Ben Chitra": "give two names, or --csv and pairs on stdin",
	} {
		out, problems, code := screen(t, "", strings.Fields(line)...)
		if code != exitUsage || out != "" || problems != "verifyctl: "+want+"\n" {
			t.Errorf("%s: exit code %d, %q, %q, want %q", line, code, out, problems, want)
		}
	}
}

func TestCompareShowsAScore(t *testing.T) {
	out, _, code := screen(t, "", "compare", "Aleksandr Ivanov", "Иванов Александр")
	if code != exitDone || !strings.HasPrefix(out, "score") || !strings.Contains(out, "Aleksandr is") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, _, _ = screen(t, "", "compare", "--kind", "company", "--json", "Acme Ltd", "Apex Ltd")
	var compared struct {
		Score   float64
		Reasons []string
	}
	if err := json.Unmarshal([]byte(out), &compared); err != nil || compared.Score > 0.5 || len(compared.Reasons) == 0 {
		t.Errorf("JSON %s, %v, want a low score with reasons", out, err)
	}
}

func TestCompareSaysHowEachNameWasRead(t *testing.T) {
	out, _, code := screen(t, "", "compare", "--kind", "company", "Zelmarind Sugar Fund XIV I/E Co., Ltd.", "АО «Зелмаринд сахар», ранее АО «Бреновар»")
	_, read, _ := strings.Cut(out, "\nname 1 ")
	const want = "read as    Zelmarind Sugar Fund XIV (number 14) import export; legal form coltd\n" +
		"name 2 read as    Зелмаринд сахар (means sugar) ранее АО Бреновар; legal form ao\nalso searched as  АО «Зелмаринд сахар; АО «Бреновар\n"
	if code != exitDone || read != want {
		t.Errorf("exit code %d:\n%swant the end\n%s", code, out, want)
	}
}

func TestCompareWritesAScoreForEachPair(t *testing.T) {
	pairs := "kind,name1,name2\nperson,\"Rao, Asha\",Asha Rao\ncompany,Acme Ltd,Acme Limited\nperson,Asha Rao,?\n"
	out, problems, code := screen(t, pairs, "compare", "--csv")
	const want = "kind,name1,name2,score\nperson,\"Rao, Asha\",Asha Rao,1.000\ncompany,Acme Ltd,Acme Limited,1.000\nperson,Asha Rao,?,0.000\n"
	if code != exitDone || out != want || problems != "" {
		t.Errorf("exit code %d, %q, %q, want %q", code, out, problems, want)
	}
	for _, tc := range []struct{ stdin, want string }{
		{"person,A B\n", "row 1: has 2 fields; it must be kind,name1,name2"},
		{"person,A B,A B\nship,A,B\n", `row 2: "ship" is not a kind of name: use person or company`},
	} {
		if _, problems, code := screen(t, tc.stdin, "compare", "--csv"); code != exitUsage || !strings.Contains(problems, tc.want) {
			t.Errorf("%q: exit code %d, %q, want %q", tc.stdin, code, problems, tc.want)
		}
	}
}

// versions writes two versions of a list and returns their paths.
func versions(t *testing.T) (before, after string) {
	t.Helper()
	folder := t.TempDir()
	before, after = filepath.Join(folder, "old.csv"), filepath.Join(folder, "new.csv")
	for path, content := range map[string]string{
		before: "id,name,kind\na,Ivan Testov,person\n",
		after:  "id,name,kind,countries\na,Ivan Testov,person,\nb,Piotr Exempel,person,mh\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return before, after
}

func TestDiffReportsTheNamesOfAFileThatMatchNewly(t *testing.T) {
	before, after := versions(t)
	customers := "id,kind,name\n1,person,Ivan Testov\n2,person,Пётр Экземпел\n3,person,Asha Rao\n"
	out, problems, code := screen(t, customers, "diff", before, after, "--names", "-", "--json")
	var found diffJSON
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%s: %v, %s", out, err, problems)
	}
	if code != exitProblems || found.Screened != 3 || len(found.NewMatches) != 1 || found.NewMatches[0].ID != "2" || found.NewMatches[0].Hits[0].ID != "b" {
		t.Errorf("exit code %d, %+v, want one new match, of row 2 with entry b", code, found)
	}
	file := filepath.Join(t.TempDir(), "customers.csv")
	if err := os.WriteFile(file, []byte("\ufeffKind,Name,countries\nperson,Asha Rao,\nperson,Piotr Exempel,de mh; Marshall Islands\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, problems, _ = screen(t, "", "diff", before, after, "--names", file)
	if !strings.Contains(out, "line-3  1.000") || problems != "verifyctl: 2 names were screened, 1 of them match newly\n" {
		t.Errorf("output %q, %q, want a match of the name and the country in line 3, which has no id", out, problems)
	}
	_, problems, code = screen(t, "kind,name,countries\nperson,Asha Rao,Indja\n", "diff", before, after, "--names", "-")
	const unknown = "verifyctl: --names: line 2: countries: \"Indja\" is not a country: give its name or its code, such as India, IN, IND or 356\n"
	if problems != unknown || code == exitDone {
		t.Errorf("an unknown country: %q, exit code %d", problems, code)
	}
	if _, _, code := screen(t, customers, "diff", before, before, "--names", "-"); code != exitDone {
		t.Errorf("exit code %d for one version twice, want %d", code, exitDone)
	}
	for stdin, want := range map[string]string{
		"name\nA\n":           "--names: the first line has no column kind",
		"kind,name\nship,A\n": `--names: line 2: "ship" is not a kind of name`,
		"kind,name,birth_date\nperson,A,14.03.1961\n": "--names: line 2: birth_date must be YYYY, YYYY-MM or YYYY-MM-DD",
	} {
		if _, problems, code := screen(t, stdin, "diff", before, after, "--names", "-"); code != exitUsage || !strings.Contains(problems, want) {
			t.Errorf("%q: exit code %d, %q, want %q", stdin, code, problems, want)
		}
	}
}

// ownColumns writes a bootstrap file with the list internal, whose columns have names of
// their own, and returns both paths.
func ownColumns(t *testing.T) (file, list string) {
	t.Helper()
	folder := t.TempDir()
	file, list = filepath.Join(folder, "bootstrap.yaml"), filepath.Join(folder, "blocked.csv")
	for path, content := range map[string]string{
		file: "lists:\n  internal: {path: blocked.csv, format: csv, kind: person, columns: {name: full_name, aliases: aka}}\ntenants: []\n",
		list: "full_name,aka\nIvan Petrow,Iwan Petrov\nPiotr Exempel,\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, list
}

func TestListsHaveTheColumnsOfTheBootstrapFile(t *testing.T) {
	file, list := ownColumns(t)
	for _, args := range [][]string{
		{"search", "internal", "Iwan Petrov", "--bootstrap", file},
		{"search", list, "Ivan Petrow", "--columns", "name=full_name"},
	} {
		if out, problems, code := screen(t, "", args...); code != exitDone || !strings.Contains(out, "1.000  said-") {
			t.Errorf("%v: exit code %d, %q, %q, want the entry of line 2", args, code, out, problems)
		}
	}
	older := filepath.Join(t.TempDir(), "older.csv")
	if err := os.WriteFile(older, []byte("full_name,aka\nPiotr Exempel,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const customers = "kind,name\nperson,Ivan Petrow\nperson,Piotr Exempel\n"
	for _, args := range [][]string{{"diff", older, "internal"}, {"diff", older, list, "--list", "internal"}} {
		args = append(args, "--bootstrap", file, "--names", "-")
		if out, problems, code := screen(t, customers, args...); code != exitProblems || !strings.Contains(out, "Ivan Petrow") {
			t.Errorf("%v: exit code %d, %q, %q, want a new match", args, code, out, problems)
		}
	}
	_, problems, code := screen(t, "", "search", "unknown", "Asha", "--bootstrap", file)
	if want := "verifyctl: there is no file unknown, and no list of this name in a bootstrap file: give the path of a file, or --bootstrap and the name of a list\n"; code != exitUsage || problems != want {
		t.Errorf("exit code %d, %q, want %q", code, problems, want)
	}
}

func TestTheTestOfAListSearchesItsNames(t *testing.T) {
	file, list := ownColumns(t)
	out, problems, code := screen(t, "", "test", "internal", "--bootstrap", file, "--json")
	var tested testJSON
	if err := json.Unmarshal([]byte(out), &tested); err != nil || code != exitDone || tested.Searched != 3 || len(tested.Lost) != 0 || tested.P99 <= 0 {
		t.Errorf("exit code %d, %s, %q, %v, want three names, found", code, out, problems, err)
	}
	out, _, _ = screen(t, "", "search", list, "Ivan Petrow", "--columns", "name=full_name", "--json")
	var found searchJSON
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Hits) != 1 {
		t.Fatalf("%s, %v, want one hit", out, err)
	}
	wanted := "kind,name,id\nperson,Ivan Petrow," + found.Hits[0].ID + "\nperson,Ivan Petrow,another\nperson,Iwan Petrov,\nperson,Asha Rao,\n"
	out, problems, code = screen(t, wanted, "test", list, "--columns", "name=full_name", "--names", "-")
	const want = "ID       KIND    NAME\nanother  person  Ivan Petrow\nline-5   person  Asha Rao\n"
	if code != exitProblems || out != want || problems != "verifyctl: 4 names were searched, 2 are not found\n" {
		t.Errorf("exit code %d, %q, %q, want the names of the rows 3 and 5", code, out, problems)
	}
}

func TestTheTestOfAListReportsPartsApart(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte("name,kind\nVelmor Network (VLN),company\nPavel Ostrenko (PVO),person\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems, code := screen(t, "", "test", list)
	if want := "verifyctl: 2 names were searched, 0 are not found; 4 parts of names were searched, 0 are not found; a search took"; code != exitDone || !strings.HasPrefix(problems, want) || !strings.HasSuffix(problems, "; found only as they are written: 1\n") {
		t.Errorf("exit code %d, %q, want %q, and PVO only as it is written", code, problems, want)
	}
}

func TestListShowsWhatWasRead(t *testing.T) {
	file, list := ownColumns(t)
	out, problems, code := screen(t, "", "list", "--bootstrap", file)
	if code != exitDone || problems != "" || !strings.Contains(out, "internal  csv     2        3      0") {
		t.Errorf("exit code %d, %q, %q, want two entries with three names", code, out, problems)
	}
	read := "full_name,aka,birth_date,nick\nIvan Testov,,1970,Vanya\nPiotr Exempel,,1971,\nAnna Probe,,unknown-1,\n"
	if err := os.WriteFile(list, []byte(read), 0o600); err != nil {
		t.Fatal(err)
	}
	out, problems, code = screen(t, "", "list", "--bootstrap", file)
	for _, want := range []string{`verifyctl: list internal: not read: 1 of 3 birth_date, first aaaaaaa-9 in entry "line-4"`, `verifyctl: list internal: not read: 1 values of the column "nick", first in entry "line-2"`} {
		if code != exitDone || !strings.Contains(problems, want) {
			t.Errorf("exit code %d, %q, want %q", code, problems, want)
		}
	}
	const columns = `
LIST      COLUMN      READ_AS     READ  NOT_READ  EXAMPLES
internal  full_name   name        3     0         -
internal  birth_date  birth_date  2     1         unknown-1
internal  nick        -           0     1         Vanya
`
	if !strings.HasSuffix(out, columns) {
		t.Errorf("%s\nwant at its end:%s", out, columns)
	}
	if err := os.WriteFile(list, []byte("full_name,aka\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, problems, code = screen(t, "", "list", "--bootstrap", file, "--json")
	if code != exitProblems || !strings.Contains(out, `"error"`) || !strings.Contains(problems, "list internal: "+list+": the list has no person and no company") {
		t.Errorf("exit code %d, %q, %q, want a list that cannot be loaded", code, out, problems)
	}
}
