// The metrics of the database and of the review queue.

package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification/engine"
)

// databaseGauges reads the store at every scrape.
type databaseGauges struct {
	store                           *postgres.Store
	up, connections, line, lateness *prometheus.Desc
}

func newDatabaseGauges(s *postgres.Store) *databaseGauges {
	return &databaseGauges{
		store: s,
		up:    prometheus.NewDesc("verifyd_database_up", "1 while the database answers.", nil, nil),
		connections: prometheus.NewDesc("verifyd_database_connections",
			"Connections of this host: open, busy, and the maximum.", []string{"state"}, nil),
		line:     prometheus.NewDesc("verifyd_appends_waiting", "Appends that wait for a writer on this host.", nil, nil),
		lateness: prometheus.NewDesc("verifyd_work_lateness_seconds", "How long the oldest due work of all hosts has been waiting.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (g *databaseGauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.up, g.connections, g.line, g.lateness} {
		to <- d
	}
}

// Collect implements prometheus.Collector. While the database does not answer,
// the lateness is unknown and left out.
func (g *databaseGauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	seen, err := g.store.Gauges(ctx, time.Now())
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(g.connections, float64(seen.Connections), "open")
	gauge(g.connections, float64(seen.Busy), "busy")
	gauge(g.connections, float64(seen.MaxConnections), "max")
	gauge(g.line, float64(seen.Waiting))
	if err != nil {
		gauge(g.up, 0)
		return
	}
	gauge(g.up, 1)
	gauge(g.lateness, seen.Lateness.Seconds())
}

// queueGauges reads the review queues of all tenants at every scrape.
type queueGauges struct {
	engine        *engine.Engine
	open, overdue *prometheus.Desc
}

func newQueueGauges(e *engine.Engine) *queueGauges {
	return &queueGauges{
		engine:  e,
		open:    prometheus.NewDesc("verifyd_reviews_open", "Runs that need a verdict, of all tenants.", nil, nil),
		overdue: prometheus.NewDesc("verifyd_reviews_overdue", "Runs whose verdict is past its due time, of all tenants.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (g *queueGauges) Describe(to chan<- *prometheus.Desc) {
	to <- g.open
	to <- g.overdue
}

// Collect implements prometheus.Collector. While the store does not answer, both are
// left out.
func (g *queueGauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	f, err := g.engine.QueueFigures(ctx, "")
	if err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(g.open, prometheus.GaugeValue, float64(f.Open))
	to <- prometheus.MustNewConstMetric(g.overdue, prometheus.GaugeValue, float64(f.Overdue))
}
