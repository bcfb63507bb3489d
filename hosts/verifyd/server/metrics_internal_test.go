// Test of the metrics of lists.

package server

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestLoadsOfListsAreCountedByOutcome(t *testing.T) {
	m := newMetrics(cli.Build{})
	m.listLoaded("a", &watchlist.List{Entries: 3, Uncompared: 2}, nil)
	m.listLoaded("a", nil, fmt.Errorf("list a: %w", watchlist.ErrNamesLost))
	m.listLoaded("a", nil, fmt.Errorf("no file"))
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`verifyd_list_loads_total{list="a",outcome="loaded"} 1`, `verifyd_list_loads_total{list="a",outcome="names_lost"} 1`,
		`verifyd_list_loads_total{list="a",outcome="failed"} 1`, `verifyd_list_uncompared_names{list="a"} 2`, `verifyd_list_entries{list="a"} 3`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("the metrics have no line %s", line)
		}
	}
}
