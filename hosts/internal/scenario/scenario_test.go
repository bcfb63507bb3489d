// The conversations, with stores in memory and on PostgreSQL.

package scenario_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/scenario"
	"github.com/verifyd/verifyd/internal/rig/openapitest"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

func TestTheServiceOnPostgresKeepsToItsContract(t *testing.T) {
	contract, err := openapitest.NewContract(httpapi.OpenAPI())
	check(t, err)
	conversations, err := scenario.Conversations()
	check(t, err)
	r := &scenario.Runner{Host: newPostgresHost, Contract: contract}
	r.Run(t, conversations)
}

func TestTheServiceKeepsToItsContract(t *testing.T) {
	contract, err := openapitest.NewContract(httpapi.OpenAPI())
	check(t, err)
	conversations, err := scenario.Conversations()
	check(t, err)
	r := &scenario.Runner{Host: newMemoryHost, Contract: contract}
	r.Run(t, conversations)
	if t.Failed() || testing.Short() {
		return
	}
	// The tests of adapters/httpapi cover responses that need concurrent clients or a
	// host that fails, and those of hosts/verifyd cover callbacks, whose tokens only
	// vendors know.
	unseen := slices.DeleteFunc(r.Unseen(), func(response string) bool {
		status := response[strings.LastIndex(response, " ")+1:]
		return slices.Contains([]string{"413", "429", "500", "503"}, status) || response == "POST /v1/workflows/{id}/runs 409" ||
			strings.HasPrefix(response, "POST /callbacks/")
	})
	for _, response := range unseen {
		t.Errorf("no conversation has the documented response %s", response)
	}
}
