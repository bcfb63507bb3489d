// Tests of the command that plays workflow files.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTryPrintsWhatBecameOfTheCases(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	const file = "workflow try testdata/try/onboarding.yaml"
	const groups = "workflow try testdata/try/groups.yaml --cases testdata/try/groups-cases.yaml"
	const away = "workflow try testdata/try/away.yaml --cases testdata/try/"
	for _, tt := range []struct{ name, args string }{
		{"bare", file},
		{"ok", file + " --cases testdata/try/cases.yaml"},
		{"json", file + " --cases testdata/try/cases.yaml --json"},
		{"case", file + " --cases testdata/try/cases.yaml --case declined --case expired"},
		{"failing", file + " --cases testdata/try/failing.yaml"},
		{"failing-json", file + " --cases testdata/try/failing.yaml --case longer --json"},
		{"need-all", file + " --cases testdata/try/bare.yaml --need-all"},
		{"four-eyes", "workflow try testdata/try/four.yaml --cases testdata/try/four-cases.yaml"},
		{"four-eyes-back", "workflow try testdata/try/four.yaml --cases testdata/try/four-cases.yaml --case back --case flaky --case slow"},
		{"groups", groups + " --need-all"},
		{"groups-steps", groups + " --case not_needed --case next_source --case one_fails --case no_source --case nobody"},
		{"rows", "workflow try testdata/try/rows.yaml --cases testdata/try/rows-cases.yaml --case each --case in_order --case too_few"},
		{"screens", "workflow try testdata/try/screens.yaml --cases testdata/try/screens-cases.yaml"},
		{"screens-case", "workflow try testdata/try/screens.yaml --cases testdata/try/screens-cases.yaml --case told --case awaited"},
		{"groups-names", "workflow try testdata/try/groups.yaml --cases testdata/try/groups-names.yaml"},
		{"consent", "workflow try ../verifyd/demo/individual-onboarding.yaml"},
		{"sandbox", "workflow try ../verifyd/demo/business-records.yaml"},
		{"ends", "workflow try testdata/try/ends.yaml --cases testdata/try/ends-cases.yaml"},
		{"ends-case", "workflow try testdata/try/ends.yaml --cases testdata/try/ends-cases.yaml --case portugal"},
		{"again", "workflow try testdata/try/again.yaml --cases testdata/try/again-cases.yaml"},
		{"again-case", "workflow try testdata/try/again.yaml --cases testdata/try/again-cases.yaml --case reviewer"},
		{"earlier", "workflow try testdata/try/earlier.yaml --cases testdata/try/earlier-cases.yaml --need-all"},
		{"away", away + "away-cases.yaml --need-all"},
		{"away-steps", away + "away-cases.yaml --case comes_back --case stays_away --case cancels_once --case answer_late --case no_answer --case elsewhere"},
		{"away-failing", away + "away-failing.yaml"},
		{"no-case", file + " --cases testdata/try/cases.yaml --case declned"},
		{"no-cases", file + " --case declined"},
		{"no-file", file + " --cases testdata/none.yaml"},
		{"no-workflow", "workflow try testdata/none.yaml"},
		{"invalid", "workflow try testdata/meaning.yaml --json"},
		{"provider", file + " --providers bureau"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := transcript(t.Context(), strings.Fields(tt.args)...)
			golden.Equal(t, "testdata/try/"+tt.name+".txt", []byte(got))
		})
	}
}

// The list has the date of its file, so this is no recorded transcript.
func TestTrySaysWhatIsOpenAtAnAnswer(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	got := transcript(t.Context(), strings.Fields("workflow try testdata/try/hits.yaml --bootstrap ../verifyd/demo/bootstrap.yaml"+
		" --cases testdata/try/hits-cases.yaml --case nobody --case listed --case doubted")...)
	parts := strings.Split(got, "\nok      ")
	if len(parts) != 4 || !strings.HasSuffix(got, "exit 0\n") {
		t.Fatalf("not all cases are ok:\n%s", got)
	}
	for i, want := range [][]string{
		{" owners[1].lists: passed\n", " owners[1]: met\n", " owners: met\n", " address: passed\n", `{"risk":"low"}`},
		{
			" owners[1].lists: passed\n", " owners[1]: met\n", " owners[2].identity: passed\n", " owners[2].lists: answered, 1 hit\n",
			" owners[2]: met, 1 hit\n", " owners: met, 1 hit\n", " steps.owners.clear = false\n", `{"risk":"high"}`,
		},
		{" owners: met\n", " address[1]: answered, flagged for review\n", " address: passed, flagged for review\n", `{"risk":"low"}`},
	} {
		at := 0
		for _, line := range want {
			next := strings.Index(parts[i+1][at:], line)
			if next < 0 {
				t.Fatalf("case %d does not print %q after the lines before it:\n%s", i+1, line, parts[i+1])
			}
			at += next
		}
	}
}

func TestTheCasesOfTheDemoReachAllOfItsWorkflows(t *testing.T) {
	for name, cases := range map[string]string{"individual-onboarding": "17 cases: 17 ok", "bank-account": "8 cases: 8 ok"} {
		got := transcript(t.Context(), strings.Fields("workflow try ../verifyd/demo/"+name+".yaml --need-all --bootstrap ../verifyd/demo/bootstrap.yaml"+
			" --cases ../verifyd/demo/cases/"+name+".yaml")...)
		if !strings.Contains(got, cases+", 0 failed; nodes and edges not reached: 0\n") || !strings.HasSuffix(got, "exit 0\n") {
			t.Error(got)
		}
	}
}

func TestTheCasesOfEveryExampleReachAllOfIt(t *testing.T) {
	examples, err := filepath.Glob("../../docs/examples/*/cases.yaml")
	if err != nil || len(examples) < 3 {
		t.Fatalf("examples with cases: %v, %v", examples, err)
	}
	for _, file := range examples {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Chdir(filepath.Dir(file))
			ctl := func(line string) string {
				var stdout, stderr bytes.Buffer
				s := bare(&stdout, &stderr)
				s.getenv = func(name string) string {
					if name == "VERIFYD_CONFIG" {
						return ""
					}
					return "a-key-for-local-use-only"
				}
				if code := run(t.Context(), strings.Split(line, "|"), s); code != exitDone {
					t.Errorf("%s: exit code %d\n%s%s", line, code, &stdout, &stderr)
				}
				return stdout.String()
			}
			ctl("workflow|validate|--strict|--bootstrap|bootstrap.yaml|workflow.yaml")
			golden.Equal(t, "workflow.svg", []byte(ctl("workflow|graph|workflow.yaml|--svg")))
			const try = "workflow|try|workflow.yaml|--bootstrap|bootstrap.yaml|--cases|cases.yaml"
			var out tryJSON
			if err := json.Unmarshal([]byte(ctl(try+"|--json")), &out); err != nil {
				t.Fatal(err)
			}
			lines := "$ verifyctl workflow try workflow.yaml --bootstrap bootstrap.yaml --cases cases.yaml --need-all\n" + ctl(try+"|--need-all")
			for _, c := range out.Cases[:2] {
				lines += "\n$ verifyctl workflow try workflow.yaml --bootstrap bootstrap.yaml --cases cases.yaml --case '" + c.Case + "'\n" + ctl(try+"|--case|"+c.Case)
			}
			golden.Equal(t, "transcript.txt", []byte(lines))
		})
	}
}

func TestTheDocsShowWhatTryPrints(t *testing.T) {
	file, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := os.ReadFile("../../docs/workflow-recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, definition, _ := strings.Cut(string(file), "```yaml\n")
	_, section, _ := strings.Cut(string(recipes), "\n## Testing a workflow\n")
	_, cases, _ := strings.Cut(section, "```yml\n")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"onboarding.yaml": definition, "cases.yaml": cases} {
		text, _, _ = strings.Cut(text, "```")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := transcript(t.Context(), strings.Fields("workflow try onboarding.yaml --cases cases.yaml")...)
	if want := strings.TrimSuffix(got, "exit 1\n"); !strings.Contains(section, "```console\n"+want+"```\n") {
		t.Errorf("docs/workflow-recipes.md does not have\n%s", got)
	}
}

func TestThePathOfACaseIsThatOfItsHistory(t *testing.T) {
	checked, err := compile(t.Context(), "testdata/try/onboarding.yaml", knownHosts{described: workflow.Descriptions(builtIn())})
	if err != nil {
		t.Fatal(err)
	}
	def := checked.definition
	var stdout, stderr bytes.Buffer
	s := bare(&stdout, &stderr)
	hosts, err := s.tryHosts(t.Context(), def, knownHosts{described: workflow.Descriptions(builtIn())})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		raw := randomCase(rt)
		file, err := definitions.ReadCases("cases.yaml", []byte(raw), def)
		if err != nil {
			rt.Fatalf("%s: %v", raw, err)
		}
		p, err := playCase(t.Context(), def, hosts, file.List[0], map[string]bool{})
		if err != nil || len(p.problems) > 0 {
			rt.Fatalf("%s: %v %v", raw, err, p.problems)
		}
		want := arrivals(p.history)
		if diff := cmp.Diff(want, p.path()); diff != "" {
			rt.Fatalf("%s: path (-history +printed):\n%s", raw, diff)
		}
		stdout.Reset()
		workflowTry{Cases: "cases.yaml", Case: []string{"random"}}.printCase(&s, p, file.ExplainFields(nil))
		if diff := cmp.Diff(want, printedNodes(def, stdout.String())); diff != "" {
			rt.Fatalf("%s:\n%s\nsteps (-history +printed):\n%s", raw, stdout.String(), diff)
		}
		again, err := playCase(t.Context(), def, hosts, file.List[0], map[string]bool{})
		if diff := cmp.Diff(p.history, again.history); diff != "" || err != nil {
			rt.Fatalf("%s: the second time, %v (-first +second):\n%s", raw, err, diff)
		}
	})
}

// randomCase returns a file with a case of testdata/try/onboarding.yaml.
func randomCase(t *rapid.T) string {
	draw := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	results := rapid.SliceOfN(rapid.SampledFrom([]string{
		"passed", "failed", "no_coverage", "inconclusive", "pending", "error", "unavailable", "{data: {score: 512}}", "{outcome: failed, after: 40m}", "{data: {score: 700}, after: 2h}",
	}), 1, 6).Draw(t, "results")
	return "cases: {random: {" + strings.Join([]string{
		"input: {tier: " + draw("tier", "basic", "full") + "}",
		"answers: {consent: " + draw("consent", "success", "success", "declined", "[]") + ", details: {name: Asha Rao, pan: " + draw("pan", "ABCPR1234F", "ABCXR1234F") + "}}",
		"results: {bureau: [" + strings.Join(results, ", ") + "]}",
		"verdicts: " + draw("verdicts", "[]", "approve", "reject", "[approve, reject]"),
		"after: {details: " + draw("idle", "[]", "10m", "30h") + ", bureau: " + draw("waits", "[]", "20m", "[1h, 1h, 1h, 1h, 1h]") + "}",
	}, ", ") + "}}"
}

// arrivals returns the nodes of a history, one for each visit.
func arrivals(history []rules.Event) []verification.NodeID {
	var all []verification.NodeID
	visits := map[verification.NodeID]int{}
	for _, e := range history {
		switch f := e.Fact.(type) {
		case rules.Dispatched:
			if f.Visit > visits[f.Node] {
				all, visits[f.Node] = append(all, f.Node), f.Visit
			}
		case rules.CustomerAwaited:
			all = append(all, f.Node)
		case rules.ReviewAsked:
			all = append(all, f.Node)
		case rules.BranchTaken:
			all = append(all, f.Node)
		case rules.Completed:
			all = append(all, f.Node)
		}
	}
	return all
}

// printedNodes returns the nodes with which lines begin; one for lines of the same node in a row.
func printedNodes(def workflow.Definition, text string) []verification.NodeID {
	var all []verification.NodeID
	for line := range strings.Lines(text) {
		if len(line) < 13 || line[12] == ' ' {
			continue
		}
		name, _, _ := strings.Cut(line[12:], ":")
		id := verification.NodeID(name)
		if _, ok := def.Nodes[id]; ok && (len(all) == 0 || all[len(all)-1] != id) {
			all = append(all, id)
		}
	}
	return all
}
