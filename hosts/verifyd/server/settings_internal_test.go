// The settings of the documentation are those of the program.

package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/rig/golden"
)

// The table of docs/settings.md is printed from the flags and from settings.txt; -update writes it.
func TestTheTableOfSettingsIsPrinted(t *testing.T) {
	const page, header = "../../../docs/settings.md", "| flag | variable | default | |\n| --- | --- | --- | --- |\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), header)
	_, after, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("%s has no table of settings", page)
	}
	parser, err := kong.New(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]*kong.Flag{}
	for _, flag := range parser.Model.Children[0].Flags {
		flags[flag.Name] = flag
	}
	told := regexp.MustCompile(`^(.*) \(default: (.*)\)$`)
	var table strings.Builder
	for _, h := range settingHelp() {
		flag := flags[h.flag]
		if delete(flags, h.flag); flag == nil || h.markdown == "" {
			t.Errorf("settings.txt has %s without a text, twice, or for no setting", h.flag)
			continue
		}
		standard := "none"
		if m := told.FindStringSubmatch(h.markdown); m != nil {
			h.markdown, standard = m[1], m[2]
		} else if flag.HasDefault {
			standard = "`" + flag.Default + "`"
		} else if flag.IsBool() {
			standard = "off"
		}
		fmt.Fprintf(&table, "| `--%s` | `%s` | %s | %s |\n", h.flag, cli.Variable(h.flag), standard, h.markdown)
	}
	for name := range flags {
		t.Errorf("settings.txt has no help of --%s", name)
	}
	golden.Equal(t, page, []byte(before+header+table.String()+"\n"+after))
}
