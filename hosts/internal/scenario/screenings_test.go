// Groups whose members screen, in every order of answers, on each store.

package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// planned is a source whose answer and its time are in the input of the run, by step.
type planned struct {
	clock   *clock.Manual
	screens bool
}

func (p planned) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{Screens: p.screens}
}

func (p planned) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	plan, _ := r.Input.Map()["sandbox"].(map[string]any)
	answer, after, _ := strings.Cut(fmt.Sprint(plan[string(r.Node)]), " ")
	wait, err := time.ParseDuration(after)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	if err := p.clock.Sleep(ctx, wait); err != nil {
		return verification.CheckResult{}, err
	}
	if answer == "outage" {
		return verification.CheckResult{}, verification.Permanent(errors.New("down"))
	}
	data := map[string]any{}
	if p.screens {
		data["analysis_ok"] = true
	}
	return verification.CheckResult{Outcome: verification.CheckOutcome(answer), Data: data}, nil
}

// ownersExample is the example of docs/workflows.md.
func ownersExample(t *testing.T) workflow.Definition {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/workflows.md")
	check(t, err)
	_, rest, found := strings.Cut(string(raw), "```yaml\nworkflow: owners\n")
	block, _, _ := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/workflows.md has no workflow owners")
	}
	d, err := definitions.ReadWorkflow("workflows.md", []byte("workflow: owners\n"+block))
	check(t, err)
	return d.Definition
}

// groupsThatScreen makes groups of two to four members, some of which screen, called together or one by one, some for each element.
func groupsThatScreen(random *rand.Rand) (all []workflow.Definition) {
	ways := []verification.NodeID{"review", "done", workflow.TargetNext}
	for i := range 20 {
		members := 2 + i%3
		n := workflow.Node{
			Type: workflow.NodeChecks, Label: "Owner", Need: workflow.Need(random.IntN(members + 1)), Next: "done",
			OnNotMet: ways[random.IntN(3)], OnUnavailable: ways[random.IntN(3)],
		}
		if i%4 == 3 {
			n.Order = workflow.OrderOneByOne
		}
		if i%5 == 4 {
			n.ForEach = "input.owners"
		}
		screens := random.IntN(members)
		for k := range members {
			m := workflow.Member{Name: fmt.Sprint("m", k), Provider: "sandbox", Retry: &workflow.Retry{MaxDispatches: 1}}
			if k == screens || random.IntN(3) == 0 {
				m.Provider = screening.ProviderName
			}
			n.Members = append(n.Members, m)
		}
		all = append(all, workflow.Definition{Workflow: fmt.Sprint("group_", i), Name: "Group", Start: "first", Nodes: map[verification.NodeID]workflow.Node{
			"first": {Type: workflow.NodeCheck, Provider: "sandbox", OnFailed: "review", OnUnavailable: "review", Next: "owner"},
			"owner": n, "review": {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd},
		}})
	}
	return all
}

// order returns the permutation of n steps with a number.
func order(n, number int) []int {
	left, chosen := make([]int, n), []int{}
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		i := number % len(left)
		number /= len(left)
		chosen, left = append(chosen, left[i]), slices.Delete(left, i, i+1)
	}
	return chosen
}

// unanswered returns the checks that screen, that the run came to, and of which it neither has an answer nor says that there is none.
func unanswered(d workflow.Definition, h engine.History) (all []verification.NodeID) {
	called, answered, confirmed := map[verification.NodeID]bool{}, map[verification.NodeID]bool{}, map[verification.NodeID]bool{}
	var entered []verification.NodeID
	passed := map[verification.NodeID]bool{}
	for _, e := range h.Events {
		switch f := e.Fact.(type) {
		case rules.GroupBegan:
			node, _, _ := f.Node.Parts()
			for _, m := range d.Nodes[node].Members {
				if !f.Each && m.Provider == screening.ProviderName {
					entered = append(entered, f.Node.Member(m.Name))
				}
			}
		case rules.GroupDecided:
			passed[f.Node] = f.Passed
		case rules.Dispatched:
			called[f.Node] = true
		case rules.ResultRecorded:
			answered[f.Node], confirmed[f.Node] = true, f.Confirms != nil && *f.Confirms
		case rules.ResultUnavailable:
			answered[f.Node] = f.Data.Map()["source_ok"] == false
		}
	}
	for _, id := range entered {
		group := id[:strings.LastIndex(string(id), ".")]
		spare := passed[group] && slices.ContainsFunc(entered, func(other verification.NodeID) bool {
			return confirmed[other] && strings.HasPrefix(string(other), string(group)+".")
		})
		told := slices.ContainsFunc(h.Report.Unscreened, func(u rules.Unscreened) bool { return u.NodeID == id })
		if called[id] && (!answered[id] || told) || !called[id] && told == spare {
			all = append(all, id)
		}
	}
	return all
}

// In a run, each check that screens and that the run came to has its answer, is flagged without one, or is told.
func TestEveryScreeningIsAnsweredOrTold(t *testing.T) {
	t.Run("memory", func(t *testing.T) { everyScreening(t, memory.New()) })
	t.Run("PostgreSQL", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{SingleHost: true})
		check(t, err)
		t.Cleanup(store.Close)
		everyScreening(t, store)
	})
}

func everyScreening(t *testing.T, s store.Store) {
	const runs = 100
	random := rand.New(rand.NewPCG(6, 45))
	h := serveScreenings(t, s)
	for _, d := range append([]workflow.Definition{ownersExample(t)}, groupsThatScreen(random)...) {
		steps := stepsOf(d)
		var plans []map[string]any
		for n := range runs {
			plan := map[string]any{"first": "passed 1s"}
			for position, i := range order(len(steps), n) {
				answer := []string{"passed", "passed", "failed", "outage", "no_coverage", "inconclusive"}[random.IntN(6)]
				plan[string(steps[i])] = fmt.Sprintf("%s %dms", answer, 10*(position+1))
			}
			plans = append(plans, plan)
		}
		for n, found := range h.run(d, plans) {
			if d.Workflow == "owners" && len(found.Report.Unscreened) > 0 {
				t.Errorf("run %d of the owners leaves %v unscreened", n, found.Report.Unscreened)
			}
		}
	}
	h.toldSome()
}

// pairsThatScreen makes groups of two members for each element: one of them screens, or both do, and they are called together or one by one.
func pairsThatScreen() (all []workflow.Definition) {
	for i := range 18 {
		n := workflow.Node{
			Type: workflow.NodeChecks, Label: "Owner", ForEach: "input.owners", Need: workflow.Need(i % 3), OnNotMet: workflow.TargetNext,
			OnUnavailable: "review", Next: "done",
		}
		if i >= 9 {
			n.Order = workflow.OrderOneByOne
		}
		for k, screens := range [][2]bool{{true, false}, {false, true}, {true, true}}[i/3%3] {
			m := workflow.Member{Name: fmt.Sprint("m", k), Provider: "sandbox", Retry: &workflow.Retry{MaxDispatches: 1}}
			if screens {
				m.Provider = screening.ProviderName
			}
			n.Members = append(n.Members, m)
		}
		all = append(all, workflow.Definition{Workflow: fmt.Sprint("pair_", i), Name: "Pair", Start: "owner", Nodes: map[verification.NodeID]workflow.Node{
			"owner": n, "review": {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd},
		}})
	}
	return all
}

// Two members for two elements answer in each of the 24 orders: all pass, or one of them does not.
func TestEveryOrderOfElementsIsAnsweredOrTold(t *testing.T) {
	h, orders := serveScreenings(t, memory.New()), map[string]bool{}
	bad := []string{"failed", "outage", "no_coverage"}
	for shift, d := range pairsThatScreen() {
		steps := stepsOf(d)
		var plans []map[string]any
		for n := range 24 * (1 + len(steps)) {
			plan := map[string]any{}
			for position, i := range order(len(steps), n%24) {
				answer := "passed"
				if i == n/24-1 {
					answer = bad[(n+shift/6)%len(bad)]
				}
				plan[string(steps[i])] = fmt.Sprintf("%s %dms", answer, 10*(position+1))
			}
			plans = append(plans, plan)
		}
		for _, found := range h.run(d, plans) {
			answered := ""
			for _, e := range found.Events {
				if f, ok := e.Fact.(rules.ResultRecorded); ok {
					answered += " " + string(f.Node)
				}
			}
			if strings.Count(answered, " ") == len(steps) {
				orders[answered] = true
			}
		}
	}
	h.toldSome()
	if len(orders) != 24 {
		t.Errorf("four checks answered in %d orders, want 24: %v", len(orders), slices.Sorted(maps.Keys(orders)))
	}
}

const screeningsTenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"

// screenings is an engine that runs groups whose members screen.
type screenings struct {
	t             *testing.T
	clock         *clock.Manual
	engine        *engine.Engine
	told, flagged int // in all runs
}

func serveScreenings(t *testing.T, s store.Store) *screenings {
	t.Helper()
	keys, err := token.NewKeys()
	check(t, err)
	at := clock.NewManual(time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC))
	e, err := engine.New(engine.Ports{
		Store: s, Expressions: expressions(), Links: token.NewLinks(keys), Clock: at, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Providers: map[string]verification.Provider{"sandbox": planned{at, false}, screening.ProviderName: planned{at, true}},
	}, engine.Options{PublicURL: "https://verify.example", StartWait: -1})
	check(t, err)
	check(t, store.Tables{RowStore: s}.SaveTenant(t.Context(), verification.Tenant{ID: screeningsTenant, Name: "Test"}))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.Serve(ctx)
	}()
	<-e.Serving()
	t.Cleanup(func() {
		stop()
		<-served
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		check(t, e.Close(closing))
	})
	return &screenings{t: t, clock: at, engine: e}
}

// stepsOf returns the checks of the group of a workflow, for each of two elements if it has any.
func stepsOf(d workflow.Definition) (steps []verification.NodeID) {
	for id, n := range d.Nodes {
		if n.Type != workflow.NodeChecks {
			continue
		}
		for element := range 2 {
			for _, m := range n.Members {
				if n.ForEach != "" {
					steps = append(steps, id.Element(element+1).Member(m.Name))
				} else if element == 0 {
					steps = append(steps, id.Member(m.Name))
				}
			}
		}
	}
	return steps
}

// run runs a workflow with each plan, and fails the test where a screening is neither answered nor told.
func (h *screenings) run(d workflow.Definition, plans []map[string]any) (all []engine.History) {
	t := h.t
	t.Helper()
	applied, err := h.engine.Apply(t.Context(), screeningsTenant, d)
	check(t, err)
	var ids []verification.RunID
	for n, plan := range plans {
		input, err := verification.NewData(map[string]any{
			"sandbox": plan, "owners": []any{map[string]any{"name": "Asha Rao", "share": 50}, map[string]any{"name": "Ravi Das", "share": 50}},
		})
		check(t, err)
		v, err := h.engine.Start(t.Context(), screeningsTenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: fmt.Sprint("company-", n), Input: input})
		check(t, err)
		ids = append(ids, v.ID)
	}
	check(t, h.clock.Settle(t.Context()))
	check(t, h.clock.Advance(t.Context(), time.Minute))
	for n, id := range ids {
		found, err := h.engine.History(t.Context(), screeningsTenant, id)
		check(t, err)
		if kind := found.Run.Wait().Kind; found.Run.Ended == "" && kind != rules.WaitReview {
			t.Fatalf("run %d of %s waits for a %s at %s", n, d.Workflow, kind, found.Run.Wait().Node)
		}
		if left := unanswered(d, found); len(left) > 0 {
			t.Errorf("run %d of %s: %v is neither answered nor told", n, d.Workflow, left)
		}
		h.told, h.flagged = h.told+len(found.Report.Unscreened), h.flagged+len(found.Report.Flags)
		all = append(all, found)
	}
	return all
}

// toldSome fails the test if no run shows anything.
func (h *screenings) toldSome() {
	h.t.Helper()
	if h.told == 0 || h.flagged == 0 {
		h.t.Errorf("in all runs %d screenings are told and %d steps flagged: the groups show nothing", h.told, h.flagged)
	}
}
