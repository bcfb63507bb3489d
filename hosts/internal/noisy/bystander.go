// The bystander: a tenant with few calls, at a fixed rate.

package noisy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// bystander makes every kind of call and records its duration.
type bystander struct {
	clients []*client.Client // one for each host
	site    *site
	runs    []verification.RunID // completed, with reports that have not been printed
	calls   atomic.Int64
	printed atomic.Int64
}

// client returns a client; consecutive numbers go to different hosts.
func (b *bystander) client(n int) *client.Client { return b.clients[n%len(b.clients)] }

// prepare makes completed runs whose reports can be read.
func (b *bystander) prepare(ctx context.Context, runs int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for n := range runs {
		run, _, err := b.start(ctx, b.client(n))
		if err != nil {
			return fmt.Errorf("prepare the bystander: %w", err)
		}
		b.runs = append(b.runs, run)
	}
	for _, run := range b.runs {
		if err := b.notice(ctx, run); err != nil {
			return fmt.Errorf("wait for the webhook of run %s: %w", run, err)
		}
	}
	return nil
}

// measure makes calls of each kind at the rate of the scale. It does not wait for a
// call before it makes the next one, and returns when all have ended.
func (b *bystander) measure(ctx context.Context, length time.Duration) Figures {
	figures := newFigures()
	kinds := []func(ctx context.Context, c *client.Client, f Figures){b.callStart, b.callList, b.callReport, b.callPDF}
	tick := time.NewTicker(time.Second / time.Duration(b.site.scale.Rate*len(kinds)))
	defer tick.Stop()
	var calls sync.WaitGroup
	for n := range int(length.Seconds() * float64(b.site.scale.Rate*len(kinds))) {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		calls.Go(func() { kinds[n%len(kinds)](ctx, b.client(n/len(kinds)), figures) })
	}
	calls.Wait()
	return figures
}

// timed makes one call under the timeout of the scale.
func (b *bystander) timed(ctx context.Context, s *Samples, call func(ctx context.Context) error) error {
	timeout := b.site.scale.Timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	if errors.Is(err, context.DeadlineExceeded) {
		took = timeout
	}
	s.add(took, err)
	return err
}

func (b *bystander) callStart(ctx context.Context, c *client.Client, f Figures) {
	var run verification.RunID
	var completed time.Time
	err := b.timed(ctx, f[CallStart], func(ctx context.Context) (err error) {
		run, completed, err = b.start(ctx, c)
		return err
	})
	if err != nil {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, b.site.scale.Timeout)
	defer cancel()
	if err := b.notice(waiting, run); err != nil {
		f[CallNotice].add(b.site.scale.Timeout, err)
		return
	}
	// The webhook may arrive before we see that the run is completed.
	f[CallNotice].add(max(0, b.site.receiver.arrival(run).at.Sub(completed)), nil)
}

// start starts a run and waits until it is completed.
func (b *bystander) start(ctx context.Context, c *client.Client) (run verification.RunID, completed time.Time, err error) {
	r, err := start(ctx, c, idOf(bystanderTenant, oneCheck), "{}", 5*time.Second)
	if err == nil && r.Status == rules.StatusInProgress {
		var d apitypes.RunDetail
		d, err = c.WaitForRun(ctx, r.ID, client.Ended)
		r = d.Run
	}
	if err == nil && r.Status != rules.StatusCompleted {
		err = fmt.Errorf("run %s", r.Status)
	}
	return r.ID, time.Now(), err
}

// notice waits until the webhook of a run arrives.
func (b *bystander) notice(ctx context.Context, run verification.RunID) error {
	select {
	case <-b.site.receiver.arrival(run).came:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bystander) callList(ctx context.Context, c *client.Client, f Figures) {
	query := []client.RunQuery{{Limit: 50}, {Decision: rules.DecisionReview}}[b.calls.Add(1)%2]
	b.call(ctx, f[CallList], func(ctx context.Context) error { _, err := c.ListRuns(ctx, query); return err })
}

func (b *bystander) callReport(ctx context.Context, c *client.Client, f Figures) {
	run := b.runs[int(b.calls.Add(1))%len(b.runs)]
	b.call(ctx, f[CallReport], func(ctx context.Context) error { _, err := c.ReadReport(ctx, run); return err })
}

func (b *bystander) callPDF(ctx context.Context, c *client.Client, f Figures) {
	run := b.runs[int(b.printed.Add(1))%len(b.runs)]
	b.call(ctx, f[CallPDF], func(ctx context.Context) error { _, err := c.PrintReport(ctx, run); return err })
}

func (b *bystander) call(ctx context.Context, s *Samples, call func(ctx context.Context) error) {
	_ = b.timed(ctx, s, call) // it counts errors itself
}
