package definitions_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
)

// updating reports whether the test rewrites its files in testdata.
func updating() bool { return os.Getenv(golden.Env) == "1" }

// refusedFile is one file of an archive, and the error that is wanted.
type refusedFile struct {
	name string // of the file, with its extension
	raw  []byte
	want *txtar.File
	// beside are the files in the same folder.
	beside map[string][]byte
}

// refusedFiles reads an archive in which a file "want" follows each other
// file. With VERIFYD_UPDATE_GOLDEN=1 it is rewritten at the end of the test.
func refusedFiles(t *testing.T, archive string) []refusedFile {
	t.Helper()
	path := filepath.Join("testdata", "problems", archive)
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []refusedFile
	c := refusedFile{beside: map[string][]byte{}}
	for i := range a.Files {
		f := &a.Files[i]
		switch {
		case f.Name == "want":
			c.want = f
			all = append(all, c)
			c = refusedFile{beside: map[string][]byte{}}
		case strings.Contains(f.Name, "/"):
			c.beside[f.Name] = f.Data
		default:
			c.name, c.raw = f.Name, f.Data
		}
	}
	if updating() {
		t.Cleanup(func() {
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

func (c refusedFile) check(t *testing.T, err error) {
	t.Helper()
	got := fmt.Sprintf("%v\n", err)
	if updating() {
		c.want.Data = []byte(got)
	}
	if diff := cmp.Diff(string(c.want.Data), got); diff != "" {
		t.Errorf("the error differs (-want +got):\n%s", diff)
	}
	var found *definitions.Diagnostics
	if !errors.As(err, &found) || !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("error is a %T, want *Diagnostics that unwraps to ErrInvalid", err)
	}
}

func TestProblemsOfAWorkflowHaveTheirPositions(t *testing.T) {
	for _, archive := range []string{"structure.txtar", "syntax.txtar"} {
		for _, c := range refusedFiles(t, archive) {
			t.Run(c.name, func(t *testing.T) {
				_, err := definitions.ReadWorkflow("w"+filepath.Ext(c.name), c.raw)
				c.check(t, err)
			})
		}
	}
}

func TestProblemsOfABootstrapAreReportedWithoutSecrets(t *testing.T) {
	environment := func(name string) string {
		return map[string]string{"API_KEY": "0123456789-secret-0123456789", "SHORT": "secret"}[name]
	}
	for _, c := range refusedFiles(t, "bootstrap.txtar") {
		t.Run(c.name, func(t *testing.T) {
			open := func(path string) ([]byte, error) {
				raw, ok := c.beside[strings.TrimPrefix(path, "etc/")]
				if !ok {
					return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
				}
				return raw, nil
			}
			_, err := definitions.ReadBootstrap("etc/b.yaml", c.raw, open, environment)
			c.check(t, err)
			for _, secret := range []string{"secret0", "-secret", "secret-", "spaces are", "MfKQ", "123456789"} {
				if strings.Contains(fmt.Sprintf("%+v %#v", err, errors.Unwrap(err)), secret) {
					t.Errorf("the error contains the secret %s", secret)
				}
			}
		})
	}
}

func TestTheBoundsOfAFile(t *testing.T) {
	nested := func(begin, end string, n int) string {
		return strings.Repeat(begin, n) + strings.Repeat(end, n)
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10))
	}
	tests := []struct{ name, file, raw, want string }{
		{"large", "w.yaml", "a: " + strings.Repeat("x", 1<<20), "w.yaml: the file is larger than 1 MiB"},
		{"empty", "w.yaml", "", "w.yaml: the file is empty"},
		{"blank", "w.json", " \n\t\n", "w.json: the file is empty"},
		{"deep YAML", "w.yaml", "a: " + nested("[", "]", 64), "w.yaml:1:67: a" + strings.Repeat("[0]", 63) + ": the file is nested too deeply"},
		{"deep JSON", "w.json", `{"a":` + nested("[", "]", 64) + "}", "w.json:1:69: a" + strings.Repeat("[0]", 63) + ": the file is nested too deeply"},
		{"deep data", "w.json", `{"workflow":"w","name":"W","start":"a","nodes":{"a":{"type":"check","provider":"p","next":"e","with":{"x":` + nested("[", "]", 32) + `}},"e":{"type":"end"}}}`, "w.json:1:95: nodes.a.with: it must not nest deeper than 32"},
		{"very deep YAML", "w.yaml", strings.Repeat("[", 20000), "w.yaml:1:10001: it is not valid YAML: exceeded max depth of 10000"},
		{"very deep JSON", "w.json", strings.Repeat("[", 20000), "w.json:1:10001: it is not valid JSON: invalid character '[' exceeded max depth"},
		{"aliases", "w.yaml", bomb, "w.yaml:1:26: d[7][1][0][6]: aliases stand for too many values"},
		{"texts of aliases", "w.yaml", "a: &a " + strings.Repeat("x", 1<<19) + "\nb: [*a, *a, *a]\n", "w.yaml:1:4: b[2]: aliases stand for more than 1 MiB of text"},
		{"names of aliases", "w.yaml", "a: &a " + strings.Repeat("x", 1<<19) + "\nb: [{*a : 1}, {*a : 1}, {*a : 1}]\n", "w.yaml:2:31: b[2]." + strings.Repeat("x", 64) + "...: aliases stand for more than 1 MiB of text"},
		{"UTF-8", "w.yaml", "name: Zo\xeb\n", "w.yaml:1:9: the file is not valid UTF-8 here"},
		{"UTF-16", "w.yaml", "\xff\xfea\x00:\x00", "w.yaml:1:1: the file is not valid UTF-8 here"},
		{"NUL", "w.json", "{\n\"a\": \"\x00\"}", "w.json:2:7: a control character does not belong in a file"},
		{"escape", "w.yaml", "# ok\nname: \x1b[2J", "w.yaml:2:7: a control character does not belong in a file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := definitions.ReadWorkflow(test.file, []byte(test.raw))
			if got, _, _ := strings.Cut(fmt.Sprint(err), "\n"); got != test.want {
				t.Errorf("error = %q, want %q", got, test.want)
			}
			if !errors.Is(err, verification.ErrInvalid) {
				t.Errorf("the error %T is not ErrInvalid", err)
			}
		})
	}
}

func TestManyProblemsAreCountedAndNotAllListed(t *testing.T) {
	var raw bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&raw, "%s%d: x\n", strings.Repeat("k", 30), i)
	}
	_, err := definitions.ReadWorkflow("w.yaml", raw.Bytes())
	lines := strings.Split(fmt.Sprint(err), "\n")
	if got := lines[len(lines)-1]; got != "and 19500 more problems" || len(lines) != 501 {
		t.Errorf("%d lines that end with %q, want 501 and the count of the rest", len(lines), got)
	}
}

func TestADiagnosticIsAlwaysOneLine(t *testing.T) {
	f := definitions.Diagnostic{File: "w.yaml", Line: 3, Path: "nodes", Message: "one\r\ntwo\u2028three\x1b[31m"}
	if got, want := f.String(), "w.yaml:3: nodes: one  two three [31m"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

// A question mark in a flow mapping is plain text in YAML 1.2.
func TestAQuestionMarkNeedsNoQuotes(t *testing.T) {
	d, err := definitions.ReadWorkflow("w.yaml", []byte("nodes: {a: {type: customer_input, fields: {x: {label: Anything else?, type: text}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Definition.Nodes["a"].Fields[0].Label; got != "Anything else?" {
		t.Errorf("label = %q, want the question", got)
	}
}

// A large file is parsed once, whether its last line is right or wrong.
func TestTheLineOfASyntaxErrorCostsNoSecondParse(t *testing.T) {
	lines := strings.Repeat("- {label: A, options: [b, c]}\n", 10000)
	parse := func(last string) func() {
		raw := []byte(lines + last)
		return func() { _, _ = definitions.ReadWorkflow("w.yaml", raw) }
	}
	_, err := definitions.ReadWorkflow("w.yaml", []byte(lines+"- \"open\n"))
	if got, want := fmt.Sprint(err), "w.yaml:10001:3: it is not valid YAML: found unexpected end of stream: a quote is not closed"; got != want {
		t.Errorf("error = %s, want %s", got, want)
	}
	right, wrong := testing.AllocsPerRun(1, parse("- end\n")), testing.AllocsPerRun(1, parse("- \"open\n"))
	if wrong > 2*right {
		t.Errorf("%.0f allocations for a file with an error in its last line, and %.0f without", wrong, right)
	}
}
