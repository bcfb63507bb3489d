// Where a document belongs.

package blob

import (
	"fmt"
	"path"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/verification"
)

// place is a document of a run of a tenant. Its parts are lower-case UUIDs, so
// that they can stand in a path.
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

// PathOf is where other stores keep a document: tenant/run/document, all in
// lower case. An id that is no UUID is a fault.
func PathOf(r verification.RunRef, id string) (string, error) {
	p, ok := placeOf(r, id)
	if !ok {
		return "", misplaced(r, id)
	}
	return p.String(), nil
}

func (p place) folder() string { return path.Join(p.tenant, p.run) }

func (p place) String() string { return path.Join(p.tenant, p.run, p.document) }

// misplaced is the fault of a caller who keeps a document under no UUID.
func misplaced(r verification.RunRef, id string) error {
	return fmt.Errorf("save document %q of run %q of tenant %q: an id is no UUID", id, r.Run, r.Tenant)
}

func notFound() error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
}

func taken() error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: "document", Message: "a document has that id"}
}
