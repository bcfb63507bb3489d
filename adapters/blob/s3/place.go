// Where a document belongs.

package s3

import (
	"errors"
	"fmt"
	"path"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// place is a document of a run of a tenant, as blob.PathOf writes it.
type place string

func placeOf(r verification.RunRef, id string) (place, error) {
	p, err := blob.PathOf(r, id)
	return place(p), err
}

func (p place) key(prefix string) string { return path.Join(prefix, string(p), "content") }

// document is the id of the document, in lower case.
func (p place) document() string { return path.Base(string(p)) }

// fault tells what could not be done with which document. An expected failure
// stays as it is.
func (p place) fault(verb string, err error) error {
	err = blob.DiskFull(err) // of the spool
	var expected *verification.Error
	if errors.As(err, &expected) {
		return expected
	}
	return fmt.Errorf("%s document %s: %w", verb, p, err)
}
