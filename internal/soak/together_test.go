// Test of hosts that start at the same moment on a database without a schema.

package soak_test

import "testing"

func TestHostsThatStartTogetherMakeTheSchemaOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "together", 1)
	f := newFleet(t, s, "api,worker", "api,worker") // it fails unless both get ready
	c := newClient(t)
	for place := range 2 {
		startRun(t, c, f.at(place), "person-1", `{}`)
	}
}
