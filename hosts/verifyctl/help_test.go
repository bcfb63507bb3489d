// Tests of help texts and usage errors.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/internal/rig/golden"
)

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.Fields(strings.ReplaceAll(leaf.FullPath(), parser.Model.Name, ""))
		t.Run(strings.Join(path, "-"), func(t *testing.T) {
			for i, word := range path {
				if strings.ContainsAny(word, "<[") { // an argument
					path = path[:i]
					break
				}
			}
			got := transcript(t.Context(), append(path, "--help")...)
			if !strings.Contains(got, "Example") || !strings.Contains(got, "    verifyctl "+strings.Join(path, " ")) && !strings.Contains(got, "verifyctl "+strings.Join(path, " ")+" ") {
				t.Errorf("the help has no example:\n%s", got)
			}
			golden.Equal(t, "testdata/helps/"+strings.Join(path, "-")+".txt", []byte(got))
		})
	}
}

// The table of docs/verifyctl.md is printed from the help of the commands and the pages in their tags; -update writes it.
func TestTheTableOfCommandsIsPrinted(t *testing.T) {
	const page, header = "../../docs/verifyctl.md", "| command | |\n| --- | --- |\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), header)
	_, after, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("%s has no table of commands", page)
	}
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, leaf := range parser.Model.Leaves(true) {
		command := "`" + strings.TrimPrefix(leaf.Path(), "verifyctl ")
		for _, argument := range leaf.Positional {
			command += " " + argument.Summary()
		}
		if command += "`"; leaf.Tag.Has("see") {
			command = "[" + command + "](" + leaf.Tag.Get("see") + ")"
		}
		fmt.Fprintf(&table, "| %s | %s |\n", command, leaf.Help)
	}
	golden.Equal(t, page, []byte(before+header+table.String()+"\n"+after))
}

func TestAFlagOverridesItsVariable(t *testing.T) {
	var opened []string
	var stdout, stderr bytes.Buffer
	s := bare(&stdout, &stderr)
	s.getenv = func(name string) string {
		return map[string]string{"VERIFYD_DATABASE_URL": "postgres://variable"}[name]
	}
	s.server.open = func(_ context.Context, url string) (*database, error) {
		opened = append(opened, url)
		return nil, errors.New("this test has no database")
	}
	for _, args := range [][]string{{"tenant", "list"}, {"tenant", "list", "--database-url", "postgres://flag"}} {
		if code := run(t.Context(), args, s); code != exitUsage {
			t.Errorf("%v = %d, want %d", args, code, exitUsage)
		}
	}
	if len(opened) != 2 || opened[0] != "postgres://variable" || opened[1] != "postgres://flag" {
		t.Errorf("opened %v, want the variable's, then the flag's", opened)
	}
}

func TestProvidersCanBeSetByTheirVariable(t *testing.T) {
	w := onMemory(t)
	w.env["VERIFYD_PROVIDERS"], w.env["ACME_API_KEY"] = "sandbox,bureau", "a-key-for-local-use-only"
	w.ctl("apply testdata/invalid.yaml")
	if got := string(w.transcript()); !strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("apply says %s, want the provider to be known", got)
	}
}
