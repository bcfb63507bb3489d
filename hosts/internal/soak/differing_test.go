// What the load needs beside testdata/bootstrap.yaml: a list that one host lacks, a
// workflow that loops, and workflows whose webhook is set during a run.

package soak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	// listSection begins the file of the hosts that have the list.
	listSection = "lists:\n  sanctions: {path: list.csv, format: csv, kind: person}\n"
	list        = "name\n" + listed + "\n"

	// owners has one form and one check for every owner of a company, as often as the
	// customer has another owner to name.
	owners = `
      - workflow: owners
        id: 0191f3c0-0000-7000-8000-000000000006
        name: Owners
        lifecycle_webhook_url: HOOKS
        start: owner
        nodes:
          owner:
            type: customer_input
            label: Owner
            fields:
              name: {type: text, label: Name, required: true}
              more: {type: checkbox, label: There is another owner}
            next: list
          list:
            type: check
            provider: offline.screening
            with: {list: sanctions, kind: person, name: "${steps.owner.data.name}"}
            next: more
          more:
            type: branch
            rules: [{when: steps.owner.data.?more.orValue(false), next: owner}]
            else: done
          done: {type: end}
`
	// late is a workflow without a webhook.
	late = `
      - workflow: late-%[1]d
        id: %[2]s
        name: Late %[1]d
        start: pan
        nodes:
          pan: {type: check, provider: sandbox, next: done}
          done: {type: end}
`
	// lateWorkflows is the number of workflows whose webhook is set during a run. Each can
	// be set once.
	lateWorkflows = 150
	latePrefix    = "0191f3c0-0000-7000-8001-"
)

// The people of a run of owners: the first visit has a hit, the last one has none.
const (
	listed   = "Viktor Aleksandrovich Zamoyskov"
	unlisted = "Asha Rao"
)

// lateWorkflow returns the id of a workflow whose webhook is set during a run.
func lateWorkflow(n int) string { return latePrefix + fmt.Sprintf("%012d", n) }

// isLate reports whether the webhook of a workflow is set during a run.
func isLate(workflow string) bool { return strings.HasPrefix(workflow, latePrefix) }

// writeBootstrap writes the bootstrap file with a number of late workflows, the list that it
// names, and a file of hosts that lack the list and the workflow that uses it.
func (s *site) writeBootstrap(t *testing.T, workflows int) {
	t.Helper()
	raw, err := os.ReadFile("testdata/bootstrap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder, lesser := t.TempDir(), string(raw)
	for n := range workflows {
		lesser += fmt.Sprintf(late, n, lateWorkflow(n))
	}
	s.bootstrap, s.lesser = filepath.Join(folder, "bootstrap.yaml"), filepath.Join(folder, "lesser.yaml")
	for path, text := range map[string]string{
		s.bootstrap: listSection + lesser + owners, s.lesser: lesser, filepath.Join(folder, "list.csv"): list,
	} {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOOKS", s.hooks.url)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// differing counts the runs that were treated wrongly because of a loop, a webhook set
// during the run, or hosts with different files. All but loops and live must be 0.
type differing struct {
	loops, unflagged  int
	live, unannounced int // live counts the runs that started, or were read live, after their webhook was set
	unavailable       int
}

func (d differing) String() string {
	return "loops " + strconv.Itoa(d.loops) + ", unflagged " + strconv.Itoa(d.unflagged) +
		", live when their webhook was set " + strconv.Itoa(d.live) + ", unannounced " + strconv.Itoa(d.unannounced) +
		", failed for want of a list " + strconv.Itoa(d.unavailable)
}
