// What the dashboards show.

package main

func boards() map[string]board {
	return map[string]board{
		"traffic": {"traffic and reviews", []row{
			{"Runs", []panel{
				{"Runs", rate, [][2]string{{"started", "sum(rate(verifyd_runs_started_total{$host}[$__rate_interval]))"}, each("verifyd_runs_ended_total{$host}", "status")}},
				{"Outcomes of completed runs", rate, [][2]string{each(`verifyd_runs_ended_total{$host, status="completed"}`, "outcome")}},
				{"Runs without a value of their data", rate, [][2]string{each("verifyd_runs_incomplete_total{$host}", "")}},
			}},
			{"Requests", []panel{
				{"Requests by route", rate, [][2]string{each("verifyd_http_request_seconds_count{$host}", "method, route")}},
				{"Requests by status", rate, [][2]string{each("verifyd_http_request_seconds_count{$host}", "status")}},
				{"Duration of requests", seconds, quantiles("verifyd_http_request_seconds", "$__rate_interval")},
				{"Connections", count, [][2]string{{"{{instance}} {{state}}", "verifyd_http_connections{$host}"}}},
				{"Connections closed for others, and refused", rate, [][2]string{
					{"closed", "sum(rate(verifyd_http_connections_closed_total{$host}[$__rate_interval]))"},
					{"refused", "sum(rate(verifyd_http_connections_refused_total{$host}[$__rate_interval]))"},
				}},
			}},
			{"Reviews", []panel{
				{"Queue", count, [][2]string{
					{"open", "max(verifyd_reviews_open{$host})"}, {"due within an hour", "max(verifyd_reviews_due_soon{$host})"}, {"overdue", "max(verifyd_reviews_overdue{$host})"},
				}},
				{"Time to the verdict", seconds, quantiles("verifyd_verdict_seconds", "1h")},
				{"Verdicts in an hour", count, [][2]string{{"verdicts", "sum(increase(verifyd_verdict_seconds_count{$host}[1h]))"}}},
				{"Earlier rejections not looked up", rate, [][2]string{each("verifyd_rejections_unknown_total{$host}", "")}},
			}},
		}},
		"vendors": {"vendors, webhooks and lists", []row{
			{"Vendors", []panel{
				{"Calls", rate, [][2]string{each("verifyd_provider_call_seconds_count{$host}", "provider")}},
				{"Share of calls with errors", share, [][2]string{{"{{provider}}", `sum by (provider) (rate(verifyd_provider_call_seconds_count{$host, outcome="error"}[$__rate_interval])) / sum by (provider) (rate(verifyd_provider_call_seconds_count{$host}[$__rate_interval]))`}}},
				{"Duration of calls, 95th percentile", seconds, [][2]string{{"{{provider}}", "histogram_quantile(0.95, sum by (provider, le) (rate(verifyd_provider_call_seconds_bucket{$host}[$__rate_interval])))"}}},
				{"Calls by outcome", rate, [][2]string{each("verifyd_provider_call_seconds_count{$host}", "outcome")}},
			}},
			{"Webhooks", []panel{{"Attempts to notify", rate, [][2]string{each("verifyd_notices_total{$host}", "outcome")}}}},
			{"Lists", []panel{
				{"Age of the file", seconds, [][2]string{{"{{list}}", "max by (list) (time() - verifyd_list_timestamp_seconds{$host})"}}},
				{"Entries", count, [][2]string{{"{{list}}", "max by (list) (verifyd_list_entries{$host})"}, {"{{list}}, found only as written", "max by (list) (verifyd_list_uncompared_names{$host})"}}},
				{"Memory", bytesIn, [][2]string{{"{{list}}", "max by (list) (verifyd_list_bytes{$host})"}}},
				{"Loads", rate, [][2]string{each("verifyd_list_loads_total{$host}", "list, outcome")}},
				{"Versions that wait to be accepted", count, [][2]string{{"{{list}}", "max by (list) (verifyd_list_unaccepted{$host})"}}},
				{"Age of the pass over completed runs", seconds, [][2]string{{"{{list}}", "max by (list) (verifyd_rescreen_pass_seconds{$host})"}}},
				{"Completed runs screened again", rate, [][2]string{each("verifyd_rescreened_runs_total{$host}", "list, outcome")}},
				{"Runs with cleared hits checked again", rate, [][2]string{each("verifyd_rechecked_runs_total{$host}", "outcome")}},
			}},
		}},
		"hosts": {"hosts and database", []row{
			{"Work", []panel{
				{"Lateness of the oldest due work", seconds, [][2]string{{"all hosts", "max(verifyd_work_lateness_seconds{$host})"}}},
				{"Appends that wait", count, [][2]string{perHost("verifyd_appends_waiting{$host}")}},
				{"Runs driven alone, ended, left", rate, [][2]string{
					{"driven alone", "sum(rate(verifyd_runs_driven_alone_total{$host}[$__rate_interval]))"},
					{"ended with INTERNAL_ERROR", "sum(rate(verifyd_runs_poisoned_total{$host}[$__rate_interval]))"},
					{"left to other hosts", "sum(rate(verifyd_runs_left_total{$host}[$__rate_interval]))"},
				}},
			}},
			{"PostgreSQL", []panel{
				{"Database answers", count, [][2]string{perHost("verifyd_database_up{$host}")}},
				{"Connections", count, [][2]string{{"{{instance}} {{state}}", "verifyd_database_connections{$host}"}}},
				{"Clock ahead of the database", seconds, [][2]string{perHost("abs(verifyd_clock_skew_seconds{$host})")}},
				{"Maintenance that failed", rate, [][2]string{each("verifyd_maintenance_failures_total{$host}", "")}},
			}},
			{"Memory and disk against their bounds", []panel{
				{"Memory needed", bytesIn, [][2]string{
					{"{{instance}} needed", "verifyd_memory_needed_bytes{$host}"},
					{"{{instance}} refuses {{refuses}}", "verifyd_memory_threshold_bytes{$host}"},
					{"{{instance}} resident", "process_resident_memory_bytes{$host}"},
				}},
				{"Memory of runs", bytesIn, [][2]string{{"{{instance}} runs", "verifyd_store_bytes{$host}"}, {"{{instance}} limit", "verifyd_store_limit_bytes{$host} > 0"}}},
				{"Share that a tenant has used", share, [][2]string{{"{{tenant}}", "max by (tenant) (verifyd_store_tenant_bytes{$host} / (verifyd_store_tenant_share_bytes{$host} > 0))"}}},
				{"Free space", bytesIn, [][2]string{{"{{instance}} {{folder}}", "verifyd_disk_free_bytes{$host}"}, {"{{instance}} {{folder}} reserve", "verifyd_disk_reserve_bytes{$host}"}}},
				{"Refused since the start", count, [][2]string{
					{"memory", "sum(verifyd_store_refused{$host})"}, {"disk", "sum(verifyd_disk_refused{$host})"}, {"share of {{tenant}}", "sum by (tenant) (verifyd_store_tenant_refused{$host})"},
				}},
			}},
			{"Processes", []panel{
				{"Processors in use", count, [][2]string{perHost("rate(process_cpu_seconds_total{$host}[$__rate_interval])")}},
				{"Open files", count, [][2]string{{"{{instance}} open", "process_open_fds{$host}"}, {"{{instance}} limit", "process_max_fds{$host}"}}},
				{"Goroutines", count, [][2]string{perHost("go_goroutines{$host}")}},
				{"Lines of the log that were lost", rate, [][2]string{each("verifyd_log_lines_lost_total{$host}", "")}},
				{"Hosts by version", count, [][2]string{{"{{version}} {{commit}}", "count by (version, commit) (verifyd_build_info{$host})"}}},
			}},
		}},
		"data-protection": {"retention, redaction and audit", []row{
			{"Retention", []panel{
				{"Lateness", seconds, [][2]string{{"all hosts", "max(verifyd_retention_late_seconds{$host})"}}},
				{"Runs looked at", rate, [][2]string{each("verifyd_retained_runs_total{$host}", "outcome")}},
				{"Passes that failed", rate, [][2]string{each("verifyd_retention_failures_total{$host}", "")}},
			}},
			{"Redaction", []panel{
				{"Redactions not complete", count, [][2]string{perHost("verifyd_redactions_pending{$host}")}},
				{"Age of the oldest redaction", seconds, [][2]string{perHost("verifyd_redaction_pending_seconds{$host}")}},
				{"Ledger of erasures", count, [][2]string{{"{{instance}} damaged", "verifyd_ledger_damaged{$host}"}, {"{{instance}} owed entries", "verifyd_ledger_owed_entries{$host}"}}},
				{"Workflows without search keys", count, [][2]string{perHost("verifyd_search_unkeyed_workflows{$host}")}},
			}},
			{"Backup", []panel{
				{"Age of the last backup", seconds, [][2]string{{"all hosts", "time() - (max(verifyd_backup_timestamp_seconds{$host}) > 0)"}}},
			}},
			{"Audit trail", []panel{
				{"Size", bytesIn, [][2]string{{"{{tenant}} {{where}}", "sum by (tenant, where) (verifyd_audit_bytes{$host})"}}},
				{"Reads that are in it only as lost", rate, [][2]string{each("verifyd_audit_lost_reads_total{$host}", "")}},
			}},
		}},
	}
}
