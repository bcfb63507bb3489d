// The metrics of the engine and the API, without data of tenants.

package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/cli"
	"github.com/verifyd/verifyd/verification"
)

// metrics records what the engine and the API report.
type metrics struct {
	registry *prometheus.Registry
	started  prometheus.Counter
	ended    *prometheus.CounterVec
	calls    *prometheus.HistogramVec
	notices  *prometheus.CounterVec
	verdicts prometheus.Histogram
	poisoned prometheus.Counter
	requests *prometheus.HistogramVec
	loads    *prometheus.CounterVec
	entries  *prometheus.GaugeVec
	dates    *prometheus.GaugeVec
}

func newMetrics(build cli.Build) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		started:  prometheus.NewCounter(prometheus.CounterOpts{Name: "verifyd_runs_started_total", Help: "Runs started."}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verifyd_runs_ended_total", Help: "Runs that reached a terminal status, by status and outcome.",
		}, []string{"status", "outcome"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "verifyd_provider_call_seconds", Help: "Calls of check providers, by provider and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"provider", "outcome"}),
		notices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verifyd_notices_total", Help: "Attempts to notify a client that a run is over, by outcome.",
		}, []string{"outcome"}),
		verdicts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "verifyd_verdict_seconds", Help: "Verdicts that were due, by the time since the run began to need them.",
			Buckets: prometheus.ExponentialBuckets(15, 4, 9), // 15 s to 11 days
		}),
		poisoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "verifyd_runs_poisoned_total", Help: "Runs that were ended because the hosts that executed them kept stopping.",
		}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "verifyd_http_request_seconds", Help: "API requests, by route, method and status.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"route", "method", "status"}),
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verifyd_list_loads_total", Help: "Attempts to load a list, by outcome: loaded or failed.",
		}, []string{"list", "outcome"}),
		entries: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "verifyd_list_entries", Help: "Entries of the list in use.",
		}, []string{"list"}),
		dates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "verifyd_list_timestamp_seconds", Help: "When the file of the list in use was changed, in Unix time.",
		}, []string{"list"}),
	}
	m.registry.MustRegister(m.started, m.ended, m.calls, m.notices, m.verdicts, m.poisoned, m.requests, m.loads, m.entries, m.dates,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_build_info", Help: "Always 1; the labels identify the build of this host.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	}, func() float64 { return 1 }))
	for _, s := range verification.Statuses() {
		if s.Terminal() {
			m.ended.WithLabelValues(string(s), "")
		}
	}
	return m
}

// RunStarted counts a start.
func (m *metrics) RunStarted() { m.started.Inc() }

// RunEnded counts the end of a run. Tenants choose the names of outcomes, so all but
// the usual ones are counted as other.
func (m *metrics) RunEnded(s verification.Status, outcome string) {
	switch outcome {
	case "", "approved", "declined", "refused":
	default:
		outcome = "other"
	}
	m.ended.WithLabelValues(string(s), outcome).Inc()
}

// ProviderCalled records the duration of a provider call.
func (m *metrics) ProviderCalled(provider, outcome string, took time.Duration) {
	m.calls.WithLabelValues(provider, outcome).Observe(took.Seconds())
}

// VerdictGiven records how long a verdict was due.
func (m *metrics) VerdictGiven(took time.Duration) { m.verdicts.Observe(took.Seconds()) }

// RunPoisoned counts a run that was ended because its hosts kept stopping.
func (m *metrics) RunPoisoned() { m.poisoned.Inc() }

// NoticeSent counts an attempt to send a notice.
func (m *metrics) NoticeSent(outcome string) { m.notices.WithLabelValues(outcome).Inc() }

// listLoaded records an attempt to load a list.
func (m *metrics) listLoaded(name string, l *screening.List, err error) {
	if err != nil {
		m.loads.WithLabelValues(name, "failed").Inc()
		return
	}
	m.loads.WithLabelValues(name, "loaded").Inc()
	m.entries.WithLabelValues(name).Set(float64(l.Entries))
	m.dates.WithLabelValues(name).Set(float64(l.Date.Unix()))
}

// request records the duration of an API request.
func (m *metrics) request(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
