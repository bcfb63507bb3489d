// Test of hosts that start at the same time on a database without a schema.

package soak_test

import "testing"

func TestHostsThatStartTogetherMakeTheSchemaOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "together", 1)
	f := newCluster(t, s, -1, "api,worker", "api,worker") // fails unless both become ready
	for slot := range 2 {
		startRun(t, f.at(slot), "person-1", nil)
	}
}
