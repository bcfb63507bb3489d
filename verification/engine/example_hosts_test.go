// Executed examples of the use cases for vendors and for hosts that share a store.

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// caller is a provider whose vendor calls back. url is the last callback URL.
type caller struct{ url string }

func (v *caller) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	v.url = r.CallbackURL
	return verification.CheckResult{Outcome: verification.OutcomePending, PollAfter: time.Hour}, nil
}

func (*caller) Poll(context.Context, verification.PollRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePending}, nil
}

func (*caller) ReceiveCallback(_ context.Context, _ verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
	if string(c.Body) != "secret: passed" {
		return verification.CheckResult{}, verification.ErrUnauthenticated
	}
	return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
}

func ExampleEngine_ReceiveCallback() {
	v := &caller{}
	s, ctx := open(func(p *engine.Ports) {
		p.Providers, p.Callbacks = map[string]verification.Provider{"registry": v}, token.NewLinks(must(token.NewKeys()))
	}), context.Background()
	defer s.close()
	run := s.start(s.apply(passport), "")
	fmt.Println(must(s.Run(ctx, acme, run)).Checks[0].Status)

	// The host serves the callback URL and passes on the token at its end.
	_, token, _ := strings.Cut(v.url, engine.CallbackPath)
	fmt.Println(s.ReceiveCallback(ctx, token, verification.Callback{Body: []byte("guessed: passed")}))
	fmt.Println(s.ReceiveCallback(ctx, token, verification.Callback{Body: []byte("secret: passed")}))
	s.settle()
	fmt.Println(must(s.Run(ctx, acme, run)).Status)
	// Output:
	// running
	// unauthenticated
	// <nil>
	// completed
}

func ExampleEngine_Wake() {
	var ports engine.Ports
	front := open(func(p *engine.Ports) { ports = *p })
	front.Engine = must(engine.New(ports, engine.Options{Passive: true, QueueInterval: 2 * time.Second}))
	worker := stage{must(engine.New(ports, engine.Options{QueueInterval: 2 * time.Second})), front.clock}
	defer worker.close()
	defer worker.serve()()
	workflow, ctx := front.apply(journey), context.Background()

	// A passive host starts the run and takes the answer; it leaves the check to the worker.
	run := front.start(workflow, "")
	worker.Wake()
	worker.settle()
	front.consent(run)
	fmt.Println(must(front.Run(ctx, acme, run)).Status)
	fmt.Println(worker.Wake(), front.Wake())
	worker.settle()
	fmt.Println(must(front.Run(ctx, acme, run)).Status)
	// Output:
	// in_progress
	// true false
	// completed
}

func ExampleEngine_RescreenPasses() {
	lists := newScreener("2026-11-21")
	s, ctx := open(func(p *engine.Ports) { lists.screens(p, nil) }), context.Background()
	defer s.close()
	defer s.serve()()
	must(s.Apply(ctx, acme, screened()))
	s.start(must(s.Workflows(ctx, acme, store.PageQuery{Limit: 1})).Data[0].ID, "")

	lists.change("2026-11-22", "e-1") // the new version has a hit
	if err := s.clock.Advance(ctx, 10*time.Minute); err != nil {
		panic(err)
	}
	for _, p := range must(s.RescreenPasses(ctx)) {
		fmt.Println(p.List, p.Version, p.Runs, p.EndedAt.After(p.StartedAt))
	}
	// Output: sanctions 2026-11-22 1 true
}
