// Holds: runs of which nothing may be removed for now.

package rules

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxHolds is how many holds of a run are recorded.
const maxHolds = 200

// Hold keeps a run from being redacted, such as for a dispute. The zero value is no hold.
type Hold struct {
	Reason       string
	By, Identity string // as in VerdictRecorded
	At           time.Time
}

// ErrNoHold is returned if a hold is to end that there is not. It is an ErrConflict.
var ErrNoHold error = verification.Conflict("run", "the run is under no hold")

func (f Held) fold(r *Run, at time.Time) {
	r.Hold, r.lastNote = Hold{f.Reason, f.By, f.Identity, at}, NoteAdded{}
	r.holds++
}

func (HoldEnded) fold(r *Run, _ time.Time) { r.Hold, r.lastNote = Hold{}, NoteAdded{} }

func (d *decision) hold(c HoldRun) error {
	f := Held{Reason: c.Reason, By: clean(c.By), Identity: clean(c.Identity)}
	if err := requireReason("hold", c.Reason, c.Identity); err != nil {
		return err
	}
	if h := d.run.Hold; h.Reason == f.Reason && h.Identity == f.Identity {
		return nil
	}
	if d.run.holds >= maxHolds {
		return full("the run has had %d holds, and takes no more", maxHolds)
	}
	d.add(f)
	return nil
}

func (d *decision) endHold(c EndHold) error {
	if d.run.Hold == (Hold{}) {
		return ErrNoHold
	}
	if c.Identity == "" {
		return verification.InvalidField("hold", "identity", "is required")
	}
	d.add(HoldEnded{By: clean(c.By), Identity: clean(c.Identity)})
	return nil
}
