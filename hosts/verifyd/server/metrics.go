// The metrics of the engine and the API, without data of tenants.

package server

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// metrics records what the engine and the API report.
type metrics struct {
	registry *prometheus.Registry
	started  prometheus.Counter
	ended    *prometheus.CounterVec
	calls    *prometheus.HistogramVec
	notices  *prometheus.CounterVec
	verdicts prometheus.Observer
	tried    prometheus.Counter
	poisoned prometheus.Counter
	left     prometheus.Counter
	skew     prometheus.Gauge
	requests *prometheus.HistogramVec
	loads    *prometheus.CounterVec
	entries  *prometheus.GaugeVec
	unlike   *prometheus.GaugeVec
	bytes    *prometheus.GaugeVec
	dates    *prometheus.GaugeVec
	rescreen *prometheus.CounterVec
	recheck  *prometheus.CounterVec
	unknown  prometheus.Counter
	retained *prometheus.CounterVec
	lost     prometheus.Counter

	retentionFailed   prometheus.Counter
	maintenanceFailed prometheus.Counter
	incomplete        prometheus.Counter
}

func newMetrics(build cli.Build) *metrics {
	registry := prometheus.NewRegistry()
	made := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return made.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, first float64, labels ...string) *prometheus.HistogramVec {
		return made.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(first, 4, 9)}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return made.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry:          registry,
		started:           counter("verifyd_runs_started_total", "Runs started.").WithLabelValues(),
		ended:             counter("verifyd_runs_ended_total", "Runs that reached a terminal status, by status and outcome.", "status", "outcome"),
		incomplete:        counter("verifyd_runs_incomplete_total", "Completed runs of whose data the end could not compute a value.").WithLabelValues(),
		calls:             histogram("verifyd_provider_call_seconds", "Calls of check providers, by provider and outcome.", 0.001, "provider", "outcome"),
		notices:           counter("verifyd_notices_total", "Attempts to notify a client that a run is over, by outcome.", "outcome"),
		verdicts:          histogram("verifyd_verdict_seconds", "Verdicts on runs that needed one, by the time since they began to need it.", 15).WithLabelValues(),
		tried:             counter("verifyd_runs_driven_alone_total", "Times that this host executed a run alone, because hosts that executed it had stopped.").WithLabelValues(),
		poisoned:          counter("verifyd_runs_poisoned_total", "Runs that were ended because the hosts that executed them alone stopped.").WithLabelValues(),
		left:              counter("verifyd_runs_left_total", "Times that this host left a run, or a callback, to other hosts, because it lacks what the next step needs.").WithLabelValues(),
		requests:          histogram("verifyd_http_request_seconds", "API requests, by route, method and status.", 0.0005, "route", "method", "status"),
		recheck:           counter("verifyd_rechecked_runs_total", "Completed runs whose cleared hits this host checked again, by outcome: clear, flagged (a hit is cleared no longer) or failed.", "outcome"),
		unknown:           counter("verifyd_rejections_unknown_total", "Runs that came to need a verdict while earlier rejections could not be looked up.").WithLabelValues(),
		retained:          counter("verifyd_retained_runs_total", "Runs that retention looked at, by outcome: deleted, redacted, or why it did nothing (live, held, restricted, verdict_owed, notice_pending, not_due), or documents_removed.", "outcome"),
		lost:              counter("verifyd_audit_lost_reads_total", "Reads of accounts that were answered and are in the audit trail only as lost, because it is full.").WithLabelValues(),
		retentionFailed:   counter("verifyd_retention_failures_total", "Passes of retention that could not do all that is due.").WithLabelValues(),
		maintenanceFailed: counter("verifyd_maintenance_failures_total", "Rounds of maintenance of the database by this host that could not do all of their work.").WithLabelValues(),
		rescreen:          counter("verifyd_rescreened_runs_total", "Completed runs that this host screened again, by outcome: clear, flagged (a new hit) or failed.", "list", "outcome"),
		loads:             counter("verifyd_list_loads_total", "Attempts to load a list, by outcome: loaded, failed, names_lost (the self-test did not find all names), or shrunk (it waits to be accepted).", "list", "outcome"),
		entries:           gauge("verifyd_list_entries", "Entries of the list in use.", "list"),
		unlike:            gauge("verifyd_list_uncompared_names", "Names of the list in use that are found only as they are written.", "list"),
		bytes:             gauge("verifyd_list_bytes", "Memory that the list in use takes, in bytes.", "list"),
		dates:             gauge("verifyd_list_timestamp_seconds", "When the file of the list in use was changed, in Unix time.", "list"),
	}
	m.skew = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "verifyd_clock_skew_seconds", Help: "How far the clock of this host is ahead of the clock of the database.",
	})
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	made.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_build_info", Help: "Always 1; the labels identify the build of this host.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "date": build.Date, "go": build.Go},
	}, func() float64 { return 1 })
	for _, s := range rules.Statuses() {
		if s.Terminal() {
			m.ended.WithLabelValues(string(s), "")
		}
	}
	begin(m.notices, nil, "delivered", "retried", "dropped", "deferred")
	begin(m.retained, nil, "deleted", "redacted", "documents_removed", "live", "held", "restricted", "verdict_owed", "notice_pending", "not_due")
	begin(m.recheck, nil, "clear", "flagged", "failed")
	return m
}

// begin exposes the series of these outcomes at zero, so that the first event is a rise.
func begin(counter *prometheus.CounterVec, labels []string, outcomes ...string) {
	for _, outcome := range outcomes {
		counter.WithLabelValues(append(labels, outcome)...)
	}
}

// Counted counts starts and ends, and how long runs waited for their verdicts. Tenants
// choose the names of outcomes, so all but the usual ones are counted as other.
func (m *metrics) Counted(found []store.Measure) {
	for _, f := range found {
		switch f.Name {
		case store.MeasureStarted:
			m.started.Add(float64(f.Count))
		case store.MeasureEnded:
			p := f.Parts()
			switch p.Outcome {
			case "", "approved", "declined", "refused":
			default:
				p.Outcome = "other"
			}
			m.ended.WithLabelValues(string(p.Status), p.Outcome).Add(float64(f.Count))
		case store.MeasureIncomplete:
			m.incomplete.Add(float64(f.Count))
		case store.MeasureVerdictTime:
			m.verdicts.Observe(f.Parts().Duration.Seconds())
		case store.MeasureTransition, store.MeasureStopped, store.MeasureDecided, store.MeasureVerdict, store.MeasureVerdictReason,
			store.MeasureVerdictBy, store.MeasureChecked, store.MeasureHits, store.MeasureRunHits, store.MeasureDispatchFailed,
			store.MeasureDispatchTime, store.MeasureDue, store.MeasureRounds, store.MeasureUnscreened:
		}
	}
}

func (m *metrics) ProviderCalled(provider, outcome string, took time.Duration) {
	m.calls.WithLabelValues(provider, outcome).Observe(took.Seconds())
}

// RunDrivenAlone counts a run that is driven alone.
func (m *metrics) RunDrivenAlone() { m.tried.Inc() }

// RunPoisoned counts a run that was ended because its hosts kept stopping.
func (m *metrics) RunPoisoned() { m.poisoned.Inc() }

// RunLeft counts a run that this host left to other hosts.
func (m *metrics) RunLeft() { m.left.Inc() }

// RunRescreened counts a completed run that was screened again.
func (m *metrics) RunRescreened(list, outcome string) {
	m.rescreen.WithLabelValues(list, outcome).Inc()
}

// RunRechecked counts a completed run whose cleared hits were checked again.
func (m *metrics) RunRechecked(outcome string) { m.recheck.WithLabelValues(outcome).Inc() }

// RejectionsUnknown counts a run whose earlier rejections could not be looked up.
func (m *metrics) RejectionsUnknown() { m.unknown.Inc() }

// ReadsLost counts reads that are in the audit trail only as lost.
func (m *metrics) ReadsLost(n int) { m.lost.Add(float64(n)) }

// RunRetained counts a run that retention looked at.
func (m *metrics) RunRetained(outcome string) { m.retained.WithLabelValues(outcome).Inc() }

// NoticeSent counts an attempt to send a notice.
func (m *metrics) NoticeSent(outcome string) { m.notices.WithLabelValues(outcome).Inc() }

func (m *metrics) listLoaded(name string, l *watchlist.List, err error) {
	begin(m.loads, []string{name}, "loaded", "failed", "names_lost", "shrunk")
	begin(m.rescreen, []string{name}, "clear", "flagged", "failed")
	switch {
	case errors.Is(err, watchlist.ErrNamesLost):
		m.loads.WithLabelValues(name, "names_lost").Inc()
		return
	case errors.Is(err, watchlist.ErrShrunk):
		m.loads.WithLabelValues(name, "shrunk").Inc()
		return
	case err != nil:
		m.loads.WithLabelValues(name, "failed").Inc()
		return
	}
	m.loads.WithLabelValues(name, "loaded").Inc()
	m.entries.WithLabelValues(name).Set(float64(l.Entries))
	m.unlike.WithLabelValues(name).Set(float64(l.Uncompared))
	m.bytes.WithLabelValues(name).Set(float64(l.Bytes))
	m.dates.WithLabelValues(name).Set(float64(l.Date.Unix()))
}

func (m *metrics) request(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
