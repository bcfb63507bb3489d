// A list that lost more than half of its entries, until a person accepts it.

package watchlist

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrShrunk is returned for a version of a list that has lost more than half of the entries, and that no
// operator has accepted.
var ErrShrunk = errors.New("the list lost more than half of its entries")

// minGuarded is the number of entries from which on a list is guarded, see docs/limits.md: a short one of your own may
// well shrink.
const minGuarded = 100

// Accepted is what counts as a whole list.
type Accepted struct {
	Entries  int      // of the last version that was accepted; 0 before the first one
	Versions []string // that an operator accepted although they had lost entries
}

// Acceptances keeps what was accepted of each list. The hosts of one store share it.
type Acceptances interface {
	AcceptedList(ctx context.Context, list string) (Accepted, error)
	// AcceptEntries saves the number of entries of a version that is in use.
	AcceptEntries(ctx context.Context, list string, entries int) error
}

// remembered are the acceptances of a host whose store keeps nothing: the first version of each list counts.
type remembered map[string]int

func (r remembered) AcceptedList(_ context.Context, list string) (Accepted, error) {
	return Accepted{Entries: r[list]}, nil
}

func (r remembered) AcceptEntries(_ context.Context, list string, entries int) error {
	r[list] = entries
	return nil
}

// Shrunk is a version of a list that waits to be accepted.
type Shrunk struct {
	Version  string
	Entries  int
	Accepted int  // the number of entries of the last version that was accepted
	InUse    bool // the host has no other version, and its answers say so
}

// shrunk returns l as a version that waits to be accepted; nil if it needs no acceptance.
func (a Accepted) shrunk(l *List) *Shrunk {
	if a.Entries < minGuarded || 2*l.Entries >= a.Entries || slices.Contains(a.Versions, l.Version) {
		return nil
	}
	return &Shrunk{Version: l.Version, Entries: l.Entries, Accepted: a.Entries}
}

// guard returns ErrShrunk for a version that waits to be accepted, if the host has another one. If it has none,
// the version is marked.
func (a *Lists) guard(k *kept, l *List, before Accepted) error {
	waits := before.shrunk(l)
	if waits == nil {
		return nil
	}
	last := k.current.Load()
	waits.InUse = last == nil || last.Lacks > 0
	k.waiting.Store(waits)
	says := "a list lost more than half of its entries; its last version stays in use until somebody accepts this one"
	if waits.InUse {
		says = "a list lost more than half of its entries; every check against it needs a reviewer until somebody accepts it"
		l.Lacks = before.Entries - l.Entries
	}
	advice := "look at the file; if it is right: verifyctl screening accept " + k.source.Name + " " + l.Version
	if _, memory := a.accepted.(remembered); memory {
		advice = "look at the file; if it is right, restart the host: it keeps nothing"
	}
	a.log.Warn(says, "list", k.source.Name, "version", l.Version, "entries", l.Entries, "accepted_entries", before.Entries, "advice", advice)
	if waits.InUse {
		return nil
	}
	return fmt.Errorf("%w: it has %d, and the version in use has been accepted with %d", ErrShrunk, l.Entries, before.Entries)
}

// Shrunk returns the version of a list that waits to be accepted; nil if none does.
func (a *Lists) Shrunk(name string) *Shrunk { return a.lists[name].waiting.Load() }

// nowAccepted reports whether the version of a list that waits has been accepted meanwhile.
func (a *Lists) nowAccepted(ctx context.Context, k *kept) bool {
	waits := k.waiting.Load()
	if waits == nil {
		return false
	}
	accepted, err := a.accepted.AcceptedList(ctx, k.source.Name)
	if err != nil {
		a.log.Error("it is not known whether a list was accepted", "list", k.source.Name, "error", err)
		return false
	}
	return accepted.shrunk(&List{Version: waits.Version, Entries: waits.Entries}) == nil
}
