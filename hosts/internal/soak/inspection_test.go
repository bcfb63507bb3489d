// The checks after the failures, of everything that was accepted.

package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// inspection is the state after the failures and the problems found in it.
type inspection struct {
	histories map[string]*history
	accepted  map[string]order
	notices   []notice
	ledger    map[string]string // the states of deliveries, as stored by hosts
	seed      uint64
	failures  failures
	now       time.Time
	live      map[string]bool // the runs that started, or were read live, after their webhook was set

	lost, unanswered int
	longest, raw     time.Duration // the longest gap, from the last failure of the run, and in total
	worst            string        // the longest one
	stuck            map[string][]stuckRun
	deliveries       int
	counters         string
	problems         []string
	differing
}

func (a *inspection) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// runs checks every run: it exists, its history is valid, it ended as its order
// says, and it was never stuck.
func (a *inspection) runs() {
	a.stuck = map[string][]stuckRun{}
	for run, o := range a.accepted {
		if a.histories[run] == nil {
			a.lost++
			a.problem("run %s of order %d was accepted and is gone", run, o.number)
		}
	}
	orders := map[int]string{}
	for run, h := range a.histories {
		a.problems = append(a.problems, h.problems()...)
		r := h.fold()
		o, err := orderOf(a.seed, r.Started.ReferenceID)
		if err != nil {
			a.problem("run %s: %v", run, err)
			continue
		}
		if twin, there := orders[o.number]; there {
			a.problem("order %d has the runs %s and %s", o.number, twin, run)
		}
		orders[o.number] = run
		if known, ok := a.accepted[run]; ok && known.number != o.number {
			a.problem("run %s was accepted for order %d and is of order %d", run, known.number, o.number)
		} else if !ok {
			a.unanswered++
		}
		if o.then.verb == doLoop {
			a.loops++
			if r.Ended == rules.StatusCompleted && r.Decision() != rules.DecisionReview {
				a.unflagged++
			}
		}
		if r.Error != nil && r.Error.Code == rules.CodeCheckUnavailable && o.want.Code != rules.CodeCheckUnavailable {
			a.unavailable++
		}
		if missed := o.want.missed(r); missed != "" {
			a.problem("%s", missed)
			if r.Ended == "" {
				a.lost++
			}
		}
		a.gaps(h)
	}
	for what, runs := range a.stuck {
		worst := slices.MaxFunc(runs, func(a, b stuckRun) int { return cmp.Compare(a.length, b.length) })
		a.problem("stuck, and due for %s: %d runs; the worst, for %s: %s", what, len(runs), worst.length.Round(time.Millisecond), worst.story)
	}
}

// stuckRun describes a run that did not progress for too long after the last failure
// that affected it.
type stuckRun struct {
	story  string
	length time.Duration
}

func (a *inspection) gaps(h *history) {
	for _, g := range h.gaps(a.now) {
		stood, stuck := a.failures.stood(g), a.failures.stuck(h, g)
		a.raw = max(a.raw, stood)
		if stuck > a.longest {
			a.longest, a.worst = stuck, g.log(h)
		}
		if stuck > stuckAfter {
			a.stuck[g.what] = append(a.stuck[g.what], stuckRun{g.log(h), stuck})
		}
	}
}

// webhooks compares webhooks with runs: at least one for each ended run, under one
// id, with its status, and no others.
func (a *inspection) webhooks() {
	ids := map[string]string{}
	for _, n := range a.notices {
		a.deliveries += n.attempts
		if other, there := ids[n.run]; there {
			a.problem("run %s has the notices %s and %s", n.run, other, n.id)
		}
		ids[n.run] = n.id
		h := a.histories[n.run]
		if h == nil {
			a.problem("webhook %s is about run %s, which no history has", n.id, n.run)
			continue
		}
		if status := h.fold().Ended; n.status != string(status) || n.kind != "run."+string(status) {
			a.problem("webhook %s said %s and %s of a run that is %s", n.id, n.kind, n.status, status)
		}
		if n.taken == 0 {
			a.problem("webhook %s came %d times and was never accepted: its ledger says %s", n.id, n.attempts, a.ledger[n.run])
		}
	}
	for run, h := range a.histories {
		if a.live[run] {
			a.differing.live++
		}
		r := h.fold()
		if _, notified := ids[run]; !notified && r.Ended != "" && (a.live[run] || !isLate(string(r.Started.Workflow))) {
			if a.live[run] {
				a.unannounced++
			}
			a.problem("run %s is over and no notice was sent", run)
		}
	}
}

// readLedger returns the deliveries that have not succeeded.
func readLedger(ctx context.Context, c *pgx.Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, "SELECT run_id::text AS run, format('%s after %s attempts (%s), next at %s', state, attempts, class, next_at) AS line FROM verifyd.deliveries WHERE state <> 'delivered'")
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ Run, Line string }])
	ledger := map[string]string{}
	for _, d := range found {
		ledger[d.Run] = d.Line
	}
	return ledger, err
}

// counts compares the stored counts of lists with the runs.
func (a *inspection) counts(ctx context.Context, database string) error {
	store, err := postgres.Open(ctx, database, postgres.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	differences, err := pgadmin.Of(store).CheckCounts(ctx)
	a.problems = append(a.problems, differences...)
	a.counters = "exact"
	if len(differences) > 0 {
		a.counters = "wrong"
	}
	return err
}

// totals compares the totals of the API's lists with the runs.
func (a *inspection) totals(ctx context.Context, h *host) error {
	want := map[client.RunQuery]int{}
	now := time.Now()
	for _, each := range a.histories {
		s := each.fold().Summary()
		want[client.RunQuery{}]++
		want[client.RunQuery{Status: s.StatusAt(now)}]++
		want[client.RunQuery{WorkflowID: s.Workflow}]++
		if d := s.DecisionAt(now); d != rules.DecisionNone {
			want[client.RunQuery{Decision: d}]++
		}
	}
	for _, status := range []rules.Status{rules.StatusInProgress, rules.StatusAbandoned} {
		want[client.RunQuery{Status: status}] += 0
	}
	for query, total := range want {
		query.Limit = 1
		page, err := h.api.ListRuns(ctx, query)
		if err != nil {
			return err
		}
		if page.Total != total {
			a.problem("the list of runs %+v has the total %d, want %d", query, page.Total, total)
		}
	}
	return nil
}

// reads compares runs as the API shows them with their histories.
func (a *inspection) reads(ctx context.Context, any func() *host, limit int) error {
	runs := slices.Sorted(maps.Keys(a.histories))
	rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	for _, run := range runs[:min(limit, len(runs))] {
		got, err := any().api.ReadRun(ctx, verification.RunID(run))
		if err != nil {
			return err
		}
		r := a.histories[run].fold()
		if want := r.Detail(time.Now()); shown(got) != recorded(want) {
			a.problem("GET /v1/runs/%s shows %s, its history says %s", run, shown(got), recorded(want))
		}
	}
	return nil
}

// shown returns a run of the API in one line.
func shown(r apitypes.RunDetail) string {
	line := fmt.Sprintf("%s %s %q", r.ReferenceID, r.Status, decided(r))
	if !r.CompletedAt.IsZero() {
		line += " " + r.CompletedAt.String()
	}
	if r.Error != nil {
		line += fmt.Sprintf(" %s %s", r.Error.Code, r.Error.Check)
	}
	for _, c := range r.Checks {
		line += fmt.Sprintf(" %s=%s", c.Key, c.Status)
	}
	return line
}

// recorded returns a run, as its history has it, in the same form as shown.
func recorded(r rules.RunDetail) string {
	line := fmt.Sprintf("%s %s %q", r.ReferenceID, r.Status, r.Decision)
	if !r.CompletedAt.IsZero() {
		line += " " + r.CompletedAt.UTC().Format(time.RFC3339)
	}
	if r.Error != nil {
		line += fmt.Sprintf(" %s %s", r.Error.Code, r.Error.Check)
	}
	for _, c := range r.Checks {
		line += fmt.Sprintf(" %s=%s", c.Key, c.Status)
	}
	return line
}

// refusals returns the numbers of failed requests by status.
func refusals(refused map[int]int) (line string) {
	for _, status := range slices.Sorted(maps.Keys(refused)) {
		name := strconv.Itoa(status) + " " + http.StatusText(status)
		if status == 0 {
			name = "no answer"
		}
		if line != "" {
			line += ", "
		}
		line += fmt.Sprintf("%s %d times", name, refused[status])
	}
	return line
}
