// Where a document belongs.

package s3

import (
	"errors"
	"fmt"
	"path"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/verification"
)

// place is a document of a run of a tenant. Its parts are lower-case UUIDs, so
// that they can stand in a key.
type place struct {
	tenant, run, document string
}

// placeOf tells where a document belongs; ok is false when one of the ids is no
// UUID.
func placeOf(r verification.RunRef, id string) (p place, ok bool) {
	for _, part := range []struct {
		to *string
		id string
	}{
		{&p.tenant, string(r.Tenant)},
		{&p.run, string(r.Run)},
		{&p.document, id},
	} {
		u, err := uuid.Parse(part.id)
		if err != nil || len(part.id) != 36 { // Parse reads other forms, too
			return place{}, false
		}
		*part.to = u.String()
	}
	return p, true
}

func (p place) key(prefix string) string { return path.Join(prefix, p.String(), "content") }

func (p place) String() string { return path.Join(p.tenant, p.run, p.document) }

// misplaced is the fault of a caller who keeps a document under no UUID.
func misplaced(r verification.RunRef, id string) error {
	return fmt.Errorf("save document %q of run %q of tenant %q: an id is no UUID", id, r.Run, r.Tenant)
}

// fault tells what could not be done with which document. An expected failure
// stays as it is.
func (p place) fault(verb string, err error) error {
	var expected *verification.Error
	if errors.As(err, &expected) {
		return expected
	}
	return fmt.Errorf("%s document %s: %w", verb, p, err)
}
