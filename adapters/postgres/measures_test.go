// Tests of measures that the suite of stores does not have.

package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

// A condition of a branch may have 20,000 characters, and is a part of a key.
func TestAMeasureMayHaveALongKey(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	var condition strings.Builder // cannot be compressed
	for sum := sha256.Sum256(nil); condition.Len() < 20_000; sum = sha256.Sum256(sum[:]) {
		condition.WriteString(hex.EncodeToString(sum[:]))
	}
	key := verification.MeasureKey{Name: verification.MeasureTransition, Key: "a:b:" + condition.String(), Version: 1}
	for n := range 2 {
		c := started(n, noon(), false)
		c.Summary.Workflow = flow
		c.Measures = []verification.Measure{{MeasureKey: key, At: noon().Truncate(verification.MeasureInterval), Count: 1}}
		must(t, s.Append(t.Context(), ours, runNumber(n+1), 0, c))
	}
	found, err := s.Measures(t.Context(), ours, verification.MeasureQuery{
		Workflow: flow, Version: 1, Names: []verification.MeasureName{verification.MeasureTransition},
		Cuts: []time.Time{noon().Add(-time.Hour), noon().Add(time.Hour)},
	})
	must(t, err)
	if len(found) != 1 || found[0].MeasureKey != key || found[0].Counts[0] != 2 {
		t.Errorf("found %d measures, want the one with the long key, twice", len(found))
	}
}
