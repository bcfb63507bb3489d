// The settings of the documentation are those of the program.

package server

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

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
	golden.Equal(t, "../../../internal/definitions/settings.schema.json", schemaOf(flags))
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

// schemaOf returns the JSON Schema of a file of settings. TestTheTableOfSettingsIsPrinted writes it with -update.
func schemaOf(flags map[string]*kong.Flag) []byte {
	fields := map[string]any{}
	for _, h := range settingHelp() {
		flag := flags[h.flag]
		if h.flag == "config" || flag == nil {
			continue
		}
		schema := map[string]any{"description": regexp.MustCompile("`|\\[([^]]*)\\]\\([^)]*\\)").ReplaceAllString(h.markdown, "$1")}
		switch flag.Target.Interface().(type) {
		case bool:
			schema["type"] = "boolean"
		case int, int64:
			schema["type"] = "integer"
		case float64:
			schema["type"] = "number"
		case []string:
			schema["type"], schema["items"] = "array", map[string]any{"type": "string"}
		case string, time.Duration:
			schema["type"] = "string"
		default:
			panic(flag.Name)
		}
		fields[field(h.flag)] = schema
	}
	raw, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://github.com/verifyd/verifyd/internal/definitions/settings.schema.json",
		"title":   "verifyd settings", "description": "The settings of a host.", "type": "object",
		"additionalProperties": false, "properties": fields,
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(raw, '\n')
}
