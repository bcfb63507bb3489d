// Erasures: runs that were redacted or deleted.

package verification

import "time"

// Erasure says that a run was redacted or deleted. It has no personal data.
type Erasure struct {
	Tenant TenantID    `json:"tenant"`
	Run    RunID       `json:"run"`
	Kind   ErasureKind `json:"kind"`
	// At is the time of the redaction or the deletion, to the microsecond, and StartedAt is when the run started.
	At        time.Time `json:"at"`
	StartedAt time.Time `json:"started_at"`
}

// ErasureKind says what was done to a run.
type ErasureKind string

// The kinds of erasures.
const (
	ErasureRedacted ErasureKind = "redacted"
	ErasureDeleted  ErasureKind = "deleted"
)
