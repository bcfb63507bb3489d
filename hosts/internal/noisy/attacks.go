// Attacks: the requests of the attacker.

package noisy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	flow "github.com/verifyd/verifyd/verification/workflow"
)

// attack is one kind of load. Any of its functions may be nil.
type attack struct {
	name    string
	control bool // it calls no host: it shows the cost of sharing the machine
	// filled says that PostgreSQL is filled with runs before the hosts start.
	filled bool
	// prepare creates what the attack needs, before the bystander is measured alone.
	prepare func(ctx context.Context, s *site) error
	// build creates a backlog, before the bystander is measured during the attack.
	build func(ctx context.Context, s *site) error
	// press runs while the bystander is measured, until ctx is done.
	press func(ctx context.Context, s *site)
}

// Attacks lists the names of all attacks, the control first.
func Attacks() (names []string) {
	for _, a := range attacks() {
		names = append(names, a.name)
	}
	return names
}

// attacks returns the control and all attacks. Those that leave a backlog come last,
// because some measurements use one site for all.
func attacks() []attack {
	return []attack{
		{name: "busy processors", control: true, press: compute},
		{name: "deep offsets", filled: true, prepare: fillMemory, press: skip},
		{name: "40 reports at once", prepare: makeCards, press: printAll},
		{name: "1 MB inputs", press: startLarge},
		{name: "large uploads", press: uploadAll},
		{name: "hostile definitions", press: startHostile},
		{name: "groups of 16", press: startGroups},
		{name: "slow vendor", build: startSlow},
		{name: "dead receiver", build: startDead},
	}
}

// attacker is the tenant that causes the load.
type attacker struct {
	clients []*client.Client // one for each host
	kept    atomic.Int64     // bytes of large bodies that were accepted

	mu      sync.Mutex
	answers map[string]int // the number of requests by result
}

// client returns a client; consecutive numbers go to different hosts.
func (a *attacker) client(n int) *client.Client { return a.clients[n%len(a.clients)] }

// reset resets the counts.
func (a *attacker) reset() {
	a.kept.Store(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers = map[string]int{}
}

// count counts a request by its result.
func (a *attacker) count(ctx context.Context, err error) {
	how := "accepted"
	switch {
	case err != nil && ctx.Err() != nil:
		how = "cut off by the end of the attack"
	case err != nil:
		how = cause(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[how]++
}

// requests returns the number of requests, including those that the end of the attack
// cut off.
func (a *attacker) requests() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, count := range a.answers {
		n += count
	}
	return n
}

// summary returns the counts by result, such as "30 accepted, 2 timed out".
func (a *attacker) summary() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var parts []string
	for _, how := range slices.Sorted(maps.Keys(a.answers)) {
		parts = append(parts, fmt.Sprintf("%d %s", a.answers[how], how))
	}
	return strings.Join(parts, ", ")
}

// flood makes calls on some connections until the total is reached or ctx is done. A
// total of 0 means no limit. If over is not 0, the calls come in bursts of one for each
// connection, spread evenly over that duration; it then needs a total.
func (s *site) flood(ctx context.Context, connections, total int, over time.Duration, call func(ctx context.Context, n int) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range connections {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; (total == 0 || n < total) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if over > 0 {
					burst := n / connections * connections
					wait(ctx, time.Until(began.Add(over*time.Duration(burst)/time.Duration(total))))
				}
				s.attacker.count(ctx, call(ctx, n))
			}
		})
	}
	all.Wait()
}

// wait waits for a duration or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

// compute occupies every processor without calling a host.
func compute(ctx context.Context, s *site) {
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			p, err := process.Start(process.Command(ctx, 0, "/bin/sh", "-c", "while :; do :; done"))
			if err == nil {
				err = p.Err() // ctx ends the process
			}
			s.attacker.count(ctx, err)
		})
	}
	all.Wait()
}

// start starts a run of the attacker without waiting for it.
func (s *site) start(ctx context.Context, n, workflow int, input string) error {
	_, err := start(ctx, s.attacker.client(n), idOf(attackerTenant, workflow), input, 0)
	return err
}

// startDead leaves a backlog of notices to a receiver that never responds.
func startDead(ctx context.Context, s *site) error {
	s.flood(ctx, 32, s.scale.Notices, 0, func(ctx context.Context, n int) error { return s.start(ctx, n, deadHook, "{}") })
	return ctx.Err()
}

// startSlow leaves a backlog of runs that wait for a slow vendor.
func startSlow(ctx context.Context, s *site) error {
	input := fmt.Sprintf(`{"sandbox":{"c":"slow:%s"}}`, s.scale.SlowFor)
	s.flood(ctx, 32, s.scale.SlowRuns, 0, func(ctx context.Context, n int) error { return s.start(ctx, n, oneCheck, input) })
	return ctx.Err()
}

// memberTakes is how long the vendor of a member takes.
const memberTakes = "200ms"

// startGroups starts a run of each of many tenants, whose group calls 16 members at once.
func startGroups(ctx context.Context, s *site) {
	scripts := map[string]string{}
	for n := range flow.MaxMembers {
		scripts[memberKey(n)] = "slow:" + memberTakes
	}
	input, err := json.Marshal(object{"sandbox": scripts})
	if err != nil {
		return // texts always encode
	}
	s.flood(ctx, 32, len(s.groups), s.scale.Beside, func(ctx context.Context, n int) error {
		_, err := start(ctx, s.groups[n], idOf(groupTenant(n), oneCheck), string(input), 0)
		return err
	})
}

// startLarge starts runs with inputs of nearly the maximum size, 1 MiB a request.
func startLarge(ctx context.Context, s *site) {
	const size = 1_000_000
	total := s.scale.LargeInputs
	if s.store == Memory {
		total = min(total, 600) // all of them are kept
	}
	body := []byte(`{"reference_id":"person-1","input":{"padding":"` + strings.Repeat("x", size) + `"}}`)
	s.flood(ctx, 32, total, s.scale.Beside, func(ctx context.Context, n int) error {
		err := s.startEncoded(ctx, n, oneCheck, body)
		if err == nil {
			s.attacker.kept.Add(size)
		}
		return err
	})
}

// fillMemory starts the runs that deep offsets skip on a host in memory.
func fillMemory(ctx context.Context, s *site) error {
	if s.store != Memory {
		return nil
	}
	s.flood(ctx, 32, s.scale.MemoryRuns, 0, func(ctx context.Context, n int) error { return s.start(ctx, n, oneCheck, "{}") })
	return ctx.Err()
}

// skip reads pages of the list of runs at deep offsets.
func skip(ctx context.Context, s *site) {
	runs := s.scale.FilledRuns
	if s.store == Memory {
		runs = s.scale.MemoryRuns
	}
	const rate = 40
	total := int(rate * s.scale.Beside.Seconds())
	s.flood(ctx, 16, total, s.scale.Beside, func(ctx context.Context, n int) error {
		offset := []int{runs / 3, runs / 2, runs - runs/30}[n%3]
		_, err := s.attacker.client(n).ListRuns(ctx, client.RunQuery{Limit: 1, Offset: offset})
		return err
	})
}

// makeCards starts runs with many cards of data and waits until they are completed.
func makeCards(ctx context.Context, s *site) error {
	const fields = 10
	var data []string
	for n := range fields {
		data = append(data, fmt.Sprintf(`"field_%d":"a value of field %d"`, n, n))
	}
	input := `{"sandbox":{"c":{"outcome":"pass","data":{` + strings.Join(data, ",") + `}}}}`
	s.flood(ctx, 8, s.scale.PrintedRuns, 0, func(ctx context.Context, n int) error { return s.start(ctx, n, manyCards, input) })
	const pollInterval = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		runs, err := s.completedCards(ctx)
		if err != nil || len(runs) >= s.scale.PrintedRuns {
			return err
		}
		wait(ctx, pollInterval)
	}
	return ctx.Err()
}

// completedCards returns the completed runs with many cards.
func (s *site) completedCards(ctx context.Context) (runs []verification.RunID, err error) {
	query := client.RunQuery{Status: rules.StatusCompleted, WorkflowID: idOf(attackerTenant, manyCards), Limit: 200}
	page, err := s.attacker.client(0).ListRuns(ctx, query)
	for _, r := range page.Data {
		runs = append(runs, r.ID)
	}
	return runs, err
}

// printAll prints the reports with many cards repeatedly.
func printAll(ctx context.Context, s *site) {
	runs, err := s.completedCards(ctx)
	if err == nil && len(runs) == 0 {
		err = errors.New("no reports to print")
	}
	if err != nil {
		s.attacker.count(ctx, err)
		return
	}
	s.flood(ctx, 40, 0, 0, func(ctx context.Context, n int) error {
		_, err := s.attacker.client(n).PrintReport(ctx, runs[n%len(runs)])
		return err
	})
}
