// The providers of a case: their results come from the script, or from the real offline checks.

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// script gives the results of one case. Its methods may be called by several goroutines.
type script struct {
	stage *stage
	lists *screening.Lists // nil for none

	mu       sync.Mutex
	calls    map[string]int                     // so far, by the name in results
	late     map[string]lateResult              // by idempotency key
	rests    map[verification.NodeID]bool       // the checks whose last result stays pending, or leads the customer away
	away     map[verification.NodeID]scriptLine // where customers are who will come back
	polls    map[verification.NodeID]time.Time  // when a check is polled
	replies  map[int]time.Time                  // when a provider that sleeps replies, by number
	sleeps   int                                // so far
	problems []verification.FieldError
}

type scriptLine = definitions.Line[definitions.Result]

// lateResult is a result that is pending until a time.
type lateResult struct {
	line scriptLine
	at   time.Time
}

// providers returns the providers of the workflow.
func (s *script) providers(hosts tryHosts) map[string]verification.Provider {
	local := builtIn()
	delete(local, screening.ProviderName)
	if s.lists = hosts.lists; s.lists != nil {
		local[screening.ProviderName] = screening.NewProvider(hosts.lists, s.stage.clock.Now)
	}
	local["sandbox"], local["sandbox_2"] = sandbox.New(s.sleep), sandbox.New(s.sleep)
	made := map[string]verification.Provider{}
	for name := range hosts.names {
		made[name] = scripted{script: s, name: name, description: hosts.described[name], local: local[name]}
	}
	return made
}

func (s *script) sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	s.sleeps++
	number := s.sleeps
	s.replies[number] = s.stage.clock.Now().Add(d)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.replies, number)
		s.mu.Unlock()
	}()
	return s.stage.clock.Sleep(ctx, d)
}

// polledAt notes when a pending result is polled. The history does not tell: a poll that is still
// pending is no event.
func (s *script) polledAt(id verification.NodeID, r verification.CheckResult) {
	if r.Outcome == verification.OutcomePending || r.Outcome == verification.OutcomeRedirect {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, _ := s.stage.def.Node(id)
		s.polls[id] = rules.PollAt(n, r.PollAfter, s.stage.clock.Now())
	}
}

// wakes returns when a check that has no result yet may get one; zero if that is now.
func (s *script) wakes(w rules.Wait) (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Kind != rules.WaitResult {
		return latest(w.At, s.polls[w.Node])
	}
	for _, reply := range s.replies {
		if at.IsZero() || reply.Before(at) {
			at = reply
		}
	}
	return at
}

// inTurn has results of checks that are called at once come in the order of the definition, a microsecond apart.
func (s *script) inTurn(ctx context.Context, id verification.NodeID) error {
	node, element, member := id.Parts()
	if node == id {
		return nil
	}
	n := s.stage.def.Nodes[node]
	i := slices.IndexFunc(n.Members, func(m workflow.Member) bool { return m.Name == member })
	return s.sleep(ctx, time.Duration(1+max(0, i)+element*(1+len(n.Members)))*time.Microsecond)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *script) restsAt(id verification.NodeID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rests[id]
}

// searches reports whether the list of a screening is there.
func (s *script) searches(r verification.CheckRequest) bool {
	name, _ := r.With["list"].(string)
	found, _ := s.lists.List(name, s.stage.clock.Now())
	return found != nil
}

// takeProblems moves the problems of results to the case.
func (s *script) takeProblems() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage.problems = append(s.stage.problems, s.problems...)
	s.problems = nil
}

// next returns the result of the next call of a check; false if the case has none.
func (s *script) next(r verification.CheckRequest) (line scriptLine, ok bool) {
	var name string
	var all []scriptLine
	for _, name = range []string{string(r.Node), string(r.Node.InDefinition()), r.Key} {
		if all, ok = s.stage.Results[name]; ok {
			break
		}
	}
	if !ok {
		return line, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := min(s.calls[name], len(all)-1)
	s.calls[name]++
	s.stage.used[all[i].Field] = true
	s.rests[r.Node] = i == len(all)-1 && slices.Contains([]string{"pending", "redirect"}, all[i].Value.Outcome)
	if all[i].Value.Outcome == "redirect" {
		s.away[r.Node] = all[i]
	}
	return all[i], true
}

// scripted is a provider of a case. local, if not nil, gives the results that the script does not.
type scripted struct {
	script      *script
	name        string
	description verification.ProviderDescription
	local       verification.Provider
}

// Describe implements verification.Describer.
func (p scripted) Describe() verification.ProviderDescription { return p.description }

// Check returns the next result of the script or, without one, that of the local check.
func (p scripted) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	if err := p.script.inTurn(ctx, r.Node); err != nil {
		return verification.CheckResult{}, err
	}
	result, err := p.check(ctx, r)
	p.script.polledAt(r.Node, result)
	return result, err
}

// Poll returns the result that was pending.
func (p scripted) Poll(ctx context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	result, err := p.poll(ctx, r)
	p.script.polledAt(r.Node, result)
	return result, err
}

func (p scripted) check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	line, ok := p.script.next(r)
	switch {
	case ok:
		return p.answer(r, line)
	case p.local != nil && (p.name != screening.ProviderName || p.script.searches(r)):
		r.Earlier = &verification.EarlierRuns{} // a case has no earlier runs
		result, err := p.local.Check(ctx, r)
		p.script.stays(r.Node, result)
		return result, err
	}
	return p.result(r, scriptLine{
		Field: p.script.stage.field("results." + string(r.Node)), Value: definitions.Result{Outcome: "passed"},
	})
}

func (p scripted) poll(ctx context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	p.script.mu.Lock()
	late, ok := p.script.late[r.IdempotencyKey]
	p.script.mu.Unlock()
	if ok {
		if d := late.at.Sub(p.script.stage.clock.Now()); d > 0 {
			return pendingUntil(d), nil
		}
		return p.result(r.CheckRequest, late.line)
	}
	if line, ok := p.script.awaits(r.Node); ok {
		return p.answer(r.CheckRequest, line)
	}
	if line, ok := p.script.next(r.CheckRequest); ok {
		return p.answer(r.CheckRequest, line)
	}
	poller, ok := p.local.(verification.Poller)
	if !ok {
		return verification.CheckResult{}, verification.Permanent(errors.New("the provider cannot be polled"))
	}
	return poller.Poll(ctx, r)
}

// answer returns a result of the script, or that it is pending if it takes time.
func (p scripted) answer(r verification.CheckRequest, line scriptLine) (verification.CheckResult, error) {
	if line.Value.After == 0 {
		return p.result(r, line)
	}
	p.script.mu.Lock()
	defer p.script.mu.Unlock()
	p.script.late[r.IdempotencyKey] = lateResult{line, p.script.stage.clock.Now().Add(line.Value.After)}
	return pendingUntil(line.Value.After), nil
}

func pendingUntil(d time.Duration) verification.CheckResult {
	return verification.CheckResult{Outcome: verification.OutcomePending, Handle: "case", PollAfter: d}
}

// forever is how long a result stays pending that nothing follows: the engine polls once the
// node's time for polling is over.
const forever = 100 * 366 * 24 * time.Hour

// result returns a result of the script. A result that the provider could not give is a problem of
// the case.
func (p scripted) result(r verification.CheckRequest, line scriptLine) (verification.CheckResult, error) {
	switch line.Value.Outcome {
	case "pending":
		if p.script.restsAt(r.Node) {
			return pendingUntil(forever), nil
		}
		return pendingUntil(0), nil
	case "redirect":
		return p.redirect(r, line), nil
	case "unavailable":
		return verification.CheckResult{}, verification.Permanent(errors.New("unavailable, as the case says"))
	case "error":
		return verification.CheckResult{}, errors.New("an error, as the case says")
	}
	data := line.Value.Data
	if p.name == screening.ProviderName {
		data = clearScreening(r, data)
	}
	outcome := verification.CheckOutcome(line.Value.Outcome)
	p.script.report(line.Field, p.misfits(data, outcome == verification.OutcomePassed))
	return verification.CheckResult{Outcome: outcome, Data: data.Map()}, nil
}

// report adds the problems of a result.
func (s *script) report(field string, problems []verification.FieldError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range problems {
		f.Name = strings.TrimSuffix(field+".data."+f.Name, ".data.")
		s.problems = append(s.problems, f)
	}
}

// clearScreening returns the data of a screening without a hit, with the fields of data in place of its own.
func clearScreening(r verification.CheckRequest, data verification.Data) verification.Data {
	all := map[string]any{
		"list": r.With["list"], "list_version": "none", "list_date": r.StartedAt.Format(time.RFC3339), "list_entries": 0,
		"score": 0, "hits": []any{}, "hits_total": 0, "analysis_ok": true, "source_ok": true,
	}
	maps.Copy(all, data.Map())
	made, err := verification.NewData(all)
	if err != nil {
		return data
	}
	return made
}
