package postgres

import (
	"errors"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestOnlyOneFormOfAUUIDIsAnID(t *testing.T) {
	const id = "0191f3c0-0000-7000-8000-00000000000a"
	if _, err := uuidOf(id); err != nil || !areUUIDs(verification.RunID(id)) {
		t.Errorf("%s: %v, want an id", id, err)
	}
	for _, other := range []string{
		"", "x", "{" + id + "}", "urn:uuid:" + id, "0191f3c000007000800000000000000a", "0191f3c0-0000-7000-8000-00000000000g",
	} {
		if _, err := uuidOf(other); !errors.Is(err, verification.ErrNotFound) || areUUIDs(verification.RunID(other)) {
			t.Errorf("%q: %v, want ErrNotFound", other, err)
		}
	}
}
