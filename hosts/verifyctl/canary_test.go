// Test that no command shows anything of a redacted person.

package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// canary stands in all that a client, a customer, a vendor and a reviewer give to the run.
const canary = "Kanarina"

// readCommands read the data of hosts. RUN is the run and FILE a new file.
var readCommands = map[string][]string{
	"doctor":            {"doctor"},
	"host list":         {"host list"},
	"tenant list":       {"tenant list"},
	"account list":      {"account list --tenant TENANT"},
	"workflow list":     {"workflow list --tenant TENANT"},
	"workflow versions": {"workflow versions kept --tenant TENANT", "workflow versions kept 1 --tenant TENANT"},
	"run list":          {"run list --tenant TENANT", "run list --tenant TENANT --json", "run list --tenant TENANT --reference-id " + canary},
	"run show":          {"run show RUN", "run show RUN --events", "run show RUN --events --json"},
	"webhook list":      {"webhook list --tenant TENANT", "webhook list --tenant TENANT --json"},
	"audit list":        {"audit list --tenant TENANT", "audit list --tenant TENANT --json"},
	"audit export":      {"audit export --tenant TENANT"},
	"retention plan":    {"retention plan --tenant TENANT"},
	"person export":     {"person export --run RUN --out FILE --include-screening --reason asked --without-documents"},
}

// otherCommands show nothing of runs.
var otherCommands = []string{
	"apply", "preflight", "migrate up", "migrate down", "migrate status",
	"store backup", "store verify", "store restore", "store copy", "store check", "store repair", "store upgrade", // whole stores: see hosts/verifyd/server and hosts/internal/storecopy
	"account create", "account disable", "account enable", "account rotate-key",
	"workflow validate", "workflow graph", "workflow diff", "workflow publish", "workflow retire", "workflow unretire", "workflow try",
	"provider list", "provider validate", "provider call",
	"run redact", "run correct", "run hold", "run release", "run restrict", "run unrestrict",
	"report verify", "screening accept", "screening list", "screening search", "screening test", "screening compare", "screening diff",
	"webhook redeliver", "webhook secret", "webhook clear", "reviewer sign-out", "token issue", "token new-key", "token use-key",
}

// given is a run that is over, with a canary in everything.
func (w *world) given() verification.RunID {
	w.t.Helper()
	w.kit.Provider.On("ask", enginetest.Pass(map[string]any{"found": canary}))
	d := workflow.Definition{
		Workflow: "kept", Name: "Kept", Start: "ask", LifecycleWebhookURL: "https://client.example/hook",
		Nodes: map[verification.NodeID]workflow.Node{
			"ask":  {Type: workflow.NodeCheck, Provider: "script", With: verification.Data(`{"name":"${input.name}"}`), Next: "form"},
			"form": {Type: workflow.NodeCustomerInput, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}}, Next: "gate"},
			"gate": {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "input.name != ''", Next: "look"}}, Else: "done"},
			"look": {Type: workflow.NodeReview, Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
	run := w.kit.Start(w.kit.Apply(d).ID, engine.StartRequest{ReferenceID: canary, Input: verification.Data(`{"name":"` + canary + `"}`)})
	w.kit.Submit(run.ID, "form_submitted", map[string]any{"name": canary})
	note := rules.AddNote{Notes: canary, By: "asha", Identity: "asha"}
	if err := w.kit.Engine.AddNote(w.t.Context(), tenant, run.ID, note); err != nil {
		w.t.Fatal(err)
	}
	verdict := rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: canary, By: "asha", Identity: "asha"}
	if _, err := w.kit.Engine.GiveVerdict(w.t.Context(), tenant, run.ID, verdict, ""); err != nil {
		w.t.Fatal(err)
	}
	w.kit.Settle()
	return run.ID
}

// readAll returns what each command prints, and the files that it writes, by its line.
func (w *world) readAll(run verification.RunID) map[string]string {
	w.t.Helper()
	shown := map[string]string{}
	for _, line := range slices.Concat(slices.Collect(maps.Values(readCommands))...) {
		file := filepath.Join(w.t.TempDir(), "person.zip")
		w.transcript()
		w.ctl(strings.NewReplacer("RUN", string(run), "FILE", file).Replace(line))
		_, said, _ := strings.Cut(string(w.transcript()), "\n") // without the line itself
		if strings.Contains(line, "FILE") {
			for name, content := range unzip(w.t, file) {
				said += name + content
			}
		}
		shown[line] = said
	}
	return shown
}

func TestNoCommandShowsAHiddenPerson(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "postgres": onPostgres, "folder": onFolder} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/bootstrap.yaml")
			run := w.given()
			showing := func() (lines []string) {
				w.kit.Settle()
				for line, said := range w.readAll(run) {
					if strings.Contains(said, canary) {
						lines = append(lines, line)
					}
				}
				slices.Sort(lines)
				return lines
			}
			before := showing()
			if len(before) < 6 {
				t.Errorf("only %q show the person before: is the run complete?", before)
			}
			w.ctl("run restrict --reason contested " + string(run))
			if lines := showing(); len(lines) > 0 {
				t.Errorf("%q show the person of the restricted run", lines)
			}
			all := "person export --include-screening --include-restricted --reason asked --without-documents --out " + filepath.Join(t.TempDir(), "all.zip")
			w.ctl(all + " --run " + string(run))
			if files := unzip(t, all[strings.LastIndex(all, " ")+1:]); !strings.Contains(files[string(run)+"/data.json"], canary) {
				t.Errorf("the file with the restricted run does not have the person: %q", files)
			}
			w.ctl("run unrestrict --reason settled " + string(run))
			if lines := showing(); !slices.Equal(lines, before) {
				t.Errorf("after the restriction %q show the person, want %q", lines, before)
			}
			w.ctl("run redact " + string(run))
			if lines := showing(); len(lines) > 0 {
				t.Errorf("%q show the person of the redacted run", lines)
			}
		})
	}
}

func TestEveryCommandIsSearchedForPeople(t *testing.T) {
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		command, _, _ := strings.Cut(strings.TrimPrefix(leaf.FullPath(), parser.Model.Name+" "), " <")
		command, _, _ = strings.Cut(command, " [")
		if _, reads := readCommands[command]; reads == slices.Contains(otherCommands, command) {
			t.Errorf("%s: say in one of the two lists whether it shows data of runs", command)
		}
	}
}
