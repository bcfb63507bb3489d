// The bystander: a tenant with few calls, at a fixed rate.

package noisy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// bystander makes every kind of call and records its duration.
type bystander struct {
	client  client
	site    *site
	runs    []string // completed, with reports that have not been printed
	calls   atomic.Int64
	printed atomic.Int64
}

func newBystander(s *site) *bystander { return &bystander{client: newClient(bystanderID), site: s} }

// prepare makes completed runs whose reports can be read.
func (b *bystander) prepare(ctx context.Context, runs int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for n := range runs {
		run, _, err := b.start(ctx, b.site.api(n))
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
	kinds := []func(ctx context.Context, api string, f Figures){b.callStart, b.callList, b.callReport, b.callPDF}
	tick := time.NewTicker(time.Second / time.Duration(b.site.scale.Rate*len(kinds)))
	defer tick.Stop()
	var calls sync.WaitGroup
	for n := range int(length.Seconds() * float64(b.site.scale.Rate*len(kinds))) {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		api := b.site.api(n / len(kinds))
		calls.Go(func() { kinds[n%len(kinds)](ctx, api, figures) })
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

func (b *bystander) callStart(ctx context.Context, api string, f Figures) {
	var run string
	var completed time.Time
	err := b.timed(ctx, f[CallStart], func(ctx context.Context) (err error) {
		run, completed, err = b.start(ctx, api)
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
func (b *bystander) start(ctx context.Context, api string) (run string, completed time.Time, err error) {
	const pollInterval = 20 * time.Millisecond
	r, err := b.client.start(ctx, api, idOf(bystanderTenant, oneCheck), "{}", "wait=5")
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for err == nil && r.Status == "in_progress" {
		select {
		case <-poll.C:
			err = b.client.do(ctx, http.MethodGet, api+"/v1/runs/"+r.ID, "", &r)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil && r.Status != "completed" {
		err = fmt.Errorf("run %s", r.Status)
	}
	return r.ID, time.Now(), err
}

// notice waits until the webhook of a run arrives.
func (b *bystander) notice(ctx context.Context, run string) error {
	select {
	case <-b.site.receiver.arrival(run).came:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bystander) callList(ctx context.Context, api string, f Figures) {
	query := []string{"limit=50", "decision=review"}[b.calls.Add(1)%2]
	b.get(ctx, f[CallList], api+"/v1/runs?"+query)
}

func (b *bystander) callReport(ctx context.Context, api string, f Figures) {
	run := b.runs[int(b.calls.Add(1))%len(b.runs)]
	b.get(ctx, f[CallReport], api+"/v1/runs/"+run+"?view=report")
}

func (b *bystander) callPDF(ctx context.Context, api string, f Figures) {
	run := b.runs[int(b.printed.Add(1))%len(b.runs)]
	b.get(ctx, f[CallPDF], api+"/v1/runs/"+run+"/report.pdf")
}

func (b *bystander) get(ctx context.Context, s *Samples, url string) {
	_ = b.timed(ctx, s, func(ctx context.Context) error { // it counts errors itself
		return b.client.do(ctx, http.MethodGet, url, "", nil)
	})
}
