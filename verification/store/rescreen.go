// Passes of re-screening.

package store

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// RescreenPass is the re-screening of completed runs against one version of a list.
type RescreenPass struct {
	List    string
	Version string
	// Holder is the host whose version of the list counts, until HeldUntil.
	Holder    string
	HeldUntil time.Time
	StartedAt time.Time
	EndedAt   time.Time // when no run was left; zero before that
	// Runs is how many runs had to be screened again when the pass began.
	Runs int
}

// ListHeld returns the ErrConflict of a RescreenStore for a list that another host holds.
func ListHeld() error { return verification.Conflict("list", "another host holds it") }
