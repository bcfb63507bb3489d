// The metrics of the database, of the review queue, of lists and of re-screening.

package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification/engine"
)

// gauges reads gauges at every scrape. It sends no descriptions, because a gauge is left
// out while it is unknown.
type gauges func(ctx context.Context, set func(d *prometheus.Desc, value float64, labels ...string))

// Describe implements prometheus.Collector.
func (gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	g(ctx, func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	})
}

// databaseGauges reads the store. While the database does not answer, the lateness is
// unknown.
func databaseGauges(s *postgres.Store, now func() time.Time) gauges {
	up := prometheus.NewDesc("verifyd_database_up", "1 while the database answers.", nil, nil)
	connections := prometheus.NewDesc("verifyd_database_connections",
		"Connections of this host: open, busy, and the maximum.", []string{"state"}, nil)
	line := prometheus.NewDesc("verifyd_appends_waiting", "Appends that wait for a writer on this host.", nil, nil)
	lateness := prometheus.NewDesc("verifyd_work_lateness_seconds", "How long the oldest due work of all hosts has been waiting.", nil, nil)
	return func(ctx context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		seen, err := pgadmin.Of(s).Gauges(ctx, now())
		set(connections, float64(seen.Connections), "open")
		set(connections, float64(seen.Busy), "busy")
		set(connections, float64(seen.MaxConnections), "max")
		set(line, float64(seen.Waiting))
		if err != nil {
			set(up, 0)
			return
		}
		set(up, 1)
		set(lateness, seen.Lateness.Seconds())
	}
}

// queueGauges reads the review queues of all tenants. While the store does not answer,
// they are unknown.
func queueGauges(e *engine.Engine) gauges {
	open := prometheus.NewDesc("verifyd_reviews_open", "Runs that need a verdict, of all tenants.", nil, nil)
	soon := prometheus.NewDesc("verifyd_reviews_due_soon", "Runs whose verdict falls due within an hour, of all tenants.", nil, nil)
	overdue := prometheus.NewDesc("verifyd_reviews_overdue", "Runs whose verdict is past its due time, of all tenants.", nil, nil)
	return func(ctx context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		if f, err := e.QueueStats(ctx); err == nil {
			set(open, float64(f.Open))
			set(soon, float64(f.DueSoon))
			set(overdue, float64(f.Overdue))
		}
	}
}

// rescreenGauges reads the passes over lists. While the store does not answer, they are
// unknown.
func rescreenGauges(e *engine.Engine, now func() time.Time) gauges {
	age := prometheus.NewDesc("verifyd_rescreen_pass_seconds",
		"How long the screening of completed runs against the version of a list has been going on, on all hosts; 0 when it has ended.", []string{"list"}, nil)
	return func(ctx context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		passes, err := e.RescreenPasses(ctx)
		if err != nil {
			return
		}
		for _, p := range passes {
			seconds := 0.0
			if p.EndedAt.IsZero() {
				seconds = now().Sub(p.StartedAt).Seconds()
			}
			set(age, seconds, p.List)
		}
	}
}

// listGauges says of which lists a version waits to be accepted.
func listGauges(lists *screening.Lists) gauges {
	waits := prometheus.NewDesc("verifyd_list_unaccepted",
		"1 while a version of the list that lost more than half of the entries waits to be accepted, 0 otherwise.", []string{"list"}, nil)
	return func(_ context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		for _, name := range lists.Names() {
			n := 0.0
			if lists.Shrunk(name) != nil {
				n = 1
			}
			set(waits, n, name)
		}
	}
}

// redactionGauges reads the redactions that this host completes.
func redactionGauges(e *engine.Engine, now func() time.Time) gauges {
	pending := prometheus.NewDesc("verifyd_redactions_pending", "Redactions that this host works on and that are not complete.", nil, nil)
	oldest := prometheus.NewDesc("verifyd_redaction_pending_seconds", "How long the oldest redaction that this host works on is not complete.", nil, nil)
	return func(_ context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		n, since := e.PendingRedactions()
		set(pending, float64(n))
		age := 0.0
		if n > 0 {
			age = now().Sub(since).Seconds()
		}
		set(oldest, age)
	}
}
