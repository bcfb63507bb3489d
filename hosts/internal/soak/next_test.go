// The next release: this tree with a new event, a new record and a new column, which are written above a level.

package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// nextFiles are the files of the next release that this tree does not have, by their places in it.
var nextFiles = map[string]string{
	"verification/rules/greeted.go":                             "rules.txt",
	"verification/engine/greeted.go":                            "engine.txt",
	"internal/memory/journal/greeted.go":                        "journal.txt",
	"internal/postgres/pgschema/migrations/99999_greetings.sql": "migration.sql",
}

// edit replaces a text of a file that stands in it once.
type edit struct{ file, anchor, text string }

var nextEdits = []edit{
	{"verification/store/level.go", "const Level = 1", "const Level = 2"},
	{"verification/rules/event_json.go", "\tfor _, decode := range decoders() {", `	if f, err := decodeAs[Greeted](kind, raw); f != nil {
		return f, err
	}
	for _, decode := range decoders() {`},
	{"verification/engine/session.go", "\tif err == nil && s.comesToReview(after) {", `	if err == nil {
		events, after = s.greet(c, events, after, now)
	}
	if err == nil && s.comesToReview(after) {`},
	{"adapters/postgres/appends.go", "\tif args := screenedArgs(group); args != nil && err == nil {", `	for _, p := range group {
		for _, e := range p.commit.Events {
			if e.Kind() == "greeted" {
				b.Queue("UPDATE verifyd.runs SET greeted_at = $3 WHERE tenant_id = $1 AND id = $2", p.tenant, p.run, e.At)
			}
		}
	}
	if args := screenedArgs(group); args != nil && err == nil {`},
	{"internal/memory/journal/records.go", "\tlastKind = ", "\tlastKind = 1 + "},
	{"internal/memory/journal/records.go", "\treturn [...]kindOf{\n", "\treturn [...]kindOf{\n\t\tkindGreeting: {\"greeting\", 2, decodeAs[greeting]},\n"},
	{"internal/memory/journal/changes.go", "\ts.moveAuditWhenDue()\n\tif (c.Rewrite", "\tif err == nil {\n\t\terr = s.greet(id, c)\n\t}\n\ts.moveAuditWhenDue()\n\tif (c.Rewrite"},
}

// buildNext builds verifyd and verifyctl of the next release into a folder.
func buildNext(folder string) error {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return err
	}
	contents := map[string][]byte{}
	read := func(file, from string) error {
		if contents[file] != nil {
			return nil
		}
		contents[file], err = os.ReadFile(from)
		return err
	}
	for file, from := range nextFiles {
		if err := read(file, filepath.Join("testdata/next", from)); err != nil {
			return err
		}
	}
	for _, e := range nextEdits {
		if err := read(e.file, filepath.Join(root, e.file)); err != nil {
			return err
		}
		if n := bytes.Count(contents[e.file], []byte(e.anchor)); n != 1 {
			return fmt.Errorf("%s has the text %q %d times, and the next release is made by replacing it once: change nextEdits", e.file, e.anchor, n)
		}
		contents[e.file] = bytes.Replace(contents[e.file], []byte(e.anchor), []byte(e.text), 1)
	}
	replaced := map[string]string{}
	for file, content := range contents {
		to := filepath.Join(folder, fmt.Sprintf("%d.txt", len(replaced)))
		if err := os.WriteFile(to, content, 0o600); err != nil {
			return err
		}
		replaced[filepath.Join(root, file)] = to
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		return err
	}
	if err := process.BuildOver(context.Background(), folder, overlay, "verifyd", "verifyctl"); err != nil {
		return fmt.Errorf("the next release, see nextEdits: %w", err)
	}
	return nil
}
