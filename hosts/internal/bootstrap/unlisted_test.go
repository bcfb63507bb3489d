// Tests of what the database knows and a file does not list.

package bootstrap_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// asking is a workflow whose runs wait for the customer, before a check of a provider.
const asking = `      - workflow: asking
        name: Asking
        start: form
        nodes:
          form: {type: customer_input, label: Form, fields: {name: {type: text, label: Name}}, next: check}
          check: {type: check, provider: sandbox, next: done}
          done: {type: end}
`

// unlisted returns a line for each kind that a file with this text does not list, on a
// host with the built-in checks and the given providers.
func (b *bench) unlisted(text string, providers ...string) []string {
	b.t.Helper()
	file, err := definitions.ReadBootstrap("bootstrap.yaml", []byte(text), nil, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	p := bootstrap.Providers{All: offline.Checks()}
	for _, name := range providers {
		p.All[name] = nil
	}
	found, err := bootstrap.FindUnlisted(b.t.Context(), b.store, bootstrap.NamesOf(file, p), time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	lines := []string{}
	for _, u := range found {
		lines = append(lines, fmt.Sprintf("%s %d: %s", u.Kind, len(u.Names), u))
	}
	return lines
}

func (b *bench) wantUnlisted(when, text string, providers []string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), b.unlisted(text, providers...)); diff != "" {
		b.t.Errorf("%s, the unlisted differ (-want +got):\n%s", when, diff)
	}
}

func TestWhatTheFileDoesNotListIsNamed(t *testing.T) {
	b := newBench(t)
	full := simple + asking
	if _, err := b.apply(full); err != nil {
		t.Fatal(err)
	}
	sandbox := []string{"sandbox"}
	b.wantUnlisted("with the same file", full, sandbox)
	b.wantUnlisted("without a workflow", simple, sandbox, "workflow 1: Bank/asking")
	b.wantUnlisted("without a provider", full, nil, "provider 1: sandbox")
	b.wantUnlisted("without the tenant", "tenants: []", sandbox, "tenant 1: Bank (0191f3c0-0000-7000-8000-00000000000b)")

	retired := workflow.DeriveWorkflowID(bank, "asking")
	if _, err := b.engine.Retire(t.Context(), bank, retired, true); err != nil {
		t.Fatal(err)
	}
	b.wantUnlisted("with a retired workflow left out", simple, sandbox)
}

func TestAProviderThatOnlyLiveRunsNeedIsNamed(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple + asking); err != nil {
		t.Fatal(err)
	}
	id := workflow.DeriveWorkflowID(bank, "asking")
	run, err := b.engine.Start(t.Context(), bank, id, engine.StartRequest{ReferenceID: "person-1", Wait: new(time.Duration)})
	if err != nil {
		t.Fatal(err)
	}
	next := strings.ReplaceAll(simple+asking, "provider: sandbox", "provider: sandbox_2")
	two := []string{"sandbox_2"}
	if _, err := b.apply(next); err != nil {
		t.Fatal(err)
	}
	b.wantUnlisted("with a live run of the first version", next, two, "provider 1: sandbox")
	if _, err := b.engine.Cancel(t.Context(), bank, run.ID); err != nil {
		t.Fatal(err)
	}
	b.wantUnlisted("after the last run of that version", next, two)
}

func TestTheNamesOfTheUnlistedAreBounded(t *testing.T) {
	var u bootstrap.Unlisted
	for n := range 12 {
		u.Names = append(u.Names, fmt.Sprintf("w%02d", n))
	}
	if got, want := u.String(), "w00, w01, w02, w03, w04, w05, w06, w07, w08, w09 and 2 more"; got != want {
		t.Errorf("names = %q, want %q", got, want)
	}
}
