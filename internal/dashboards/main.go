// Command dashboards writes the Grafana dashboards of docs/operate. It is a module of its own, so
// that no host depends on its libraries. It writes the classic schema, which every Grafana reads from files.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func main() {
	files, err := files()
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const folder = "../../docs/operate/dashboards"

// files returns the dashboards as JSON, by the names of their files.
func files() (map[string][]byte, error) {
	found := map[string][]byte{}
	for name, board := range boards() {
		built, err := board.build(name)
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", name, err)
		}
		var text bytes.Buffer
		to := json.NewEncoder(&text)
		to.SetEscapeHTML(false)
		to.SetIndent("", "  ")
		if err := to.Encode(built); err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", name, err)
		}
		found[name+".json"] = text.Bytes()
	}
	return found, nil
}

// board is a dashboard: rows of panels.
type board struct {
	title string
	rows  []row
}

type row struct {
	title  string
	panels []panel
}

// panel shows queries over time. Each query is a legend, such as {{provider}}, and an expression, in which
// $host selects the chosen hosts.
type panel struct {
	title, unit string
	queries     [][2]string
}

// source is the Prometheus that is chosen at the top of a dashboard.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

func (b board) build(name string) (dashboard.Dashboard, error) { //nolint:staticcheck // older versions of Grafana do not read the newer schema
	d := dashboard.NewDashboardBuilder("verifyd: " + b.title) //nolint:staticcheck // as above
	d.Uid("verifyd-"+name).Tags([]string{"verifyd"}).
		Refresh("30s").Time("now-6h", "now").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(choice("job", "label_values(verifyd_build_info, job)")).
		WithVariable(choice("instance", `label_values(verifyd_build_info{job=~"$job"}, instance)`))
	for _, r := range b.rows {
		d.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			made := timeseries.NewPanelBuilder().Title(p.title).Unit(p.unit).Min(0).Datasource(source()).Span(8).Height(8).
				FillOpacity(10).ShowPoints(common.VisibilityModeNever).
				Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
				Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
			for i, q := range p.queries {
				made.WithTarget(prometheus.NewDataqueryBuilder().Datasource(source()).RefId(string(rune('A' + i))).Range().
					LegendFormat(q[0]).Expr(strings.ReplaceAll(q[1], "$host", `job=~"$job", instance=~"$instance"`)))
			}
			d.WithPanel(made)
		}
	}
	return d.Build()
}

// choice is a variable whose values Prometheus knows.
func choice(name, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Datasource(source()).Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{String: cog.ToPtr("All")}, Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")}})
}

// each returns a query for the sum of rises per second of a counter, by the labels.
func each(counter, labels string) [2]string {
	if labels == "" {
		return [2]string{"all", fmt.Sprintf("sum(rate(%s[$__rate_interval]))", counter)}
	}
	return [2]string{"{{" + strings.ReplaceAll(labels, ", ", "}} {{") + "}}", fmt.Sprintf("sum by (%s) (rate(%s[$__rate_interval]))", labels, counter)}
}

// quantiles returns queries for the median and higher percentiles of a histogram.
func quantiles(histogram, window string) (queries [][2]string) {
	for _, q := range []string{"0.5", "0.95", "0.99"} {
		queries = append(queries, [2]string{
			"p" + strings.TrimPrefix(q+"0", "0.")[:2],
			fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s_bucket{$host}[%s])))", q, histogram, window),
		})
	}
	return queries
}

// perHost returns a query whose value each host has.
func perHost(expression string) [2]string { return [2]string{"{{instance}}", expression} }

const (
	count   = units.Short
	seconds = units.Seconds
	bytesIn = units.BytesIEC
	share   = units.PercentUnit
	rate    = "ops"
)
