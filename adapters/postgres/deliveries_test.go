// Tests of the deliveries of notices.

package postgres_test

import (
	"fmt"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

func TestOnlyADeliveryDoesNotWaitForTheDisk(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	admin := connect(t, pgtest.Admin(t, url))
	for table, column := range map[string]string{"deliveries": "class", "tenants": "name"} {
		_, err := admin.Exec(t.Context(), fmt.Sprintf(`
			CREATE FUNCTION note_%[1]s() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN NEW.%[2]s := current_setting('synchronous_commit'); RETURN NEW; END $$;
			CREATE TRIGGER note BEFORE INSERT ON verifyd.%[1]s FOR EACH ROW EXECUTE FUNCTION note_%[1]s()`, table, column))
		must(t, err)
	}
	ref := verification.NoticeRef{Run: runNumber(1)}
	must(t, s.SaveDelivery(t.Context(), ours, verification.Delivery{
		Run: ref.Run, State: verification.DeliveryDelivered, URL: "https://client.example", LastAt: noon(),
	}))
	d, err := s.Delivery(t.Context(), ours, ref)
	if err != nil || d.Class != "off" {
		t.Errorf("synchronous_commit = %q for a delivery, %v, want off", d.Class, err)
	}
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	tenant, err := s.Tenant(t.Context(), ours)
	if err != nil || tenant.Name != "on" {
		t.Errorf("synchronous_commit = %q afterwards, %v, want on", tenant.Name, err)
	}
}
