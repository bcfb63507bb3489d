// How long providers take, without the time that a customer is away.

package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// dispatchTime counts how long the result of an event took.
func (m *measuring) dispatchTime(event int, step verification.NodeID) {
	if provider, since := m.dispatched(event, step); !since.IsZero() {
		m.count(MeasureDispatchTime, MeasureParts{Duration: m.events[event].At.Sub(since), Provider: provider})
	}
}

// dispatched returns the provider that was last called for a step before an event, and since when its answer was awaited: zero if
// the customer was led away and has not come back.
func (m *measuring) dispatched(event int, step verification.NodeID) (provider string, since time.Time) {
	away, opened := false, time.Time{} // opened is when the customer last opened the page
	for _, e := range slices.Backward(m.events[:event]) {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these say whom the answer is awaited from
		case rules.Returned:
			if f.Node == step && since.IsZero() && !away {
				since = cmp.Or(opened, e.At)
			}
		case rules.JourneyOpened:
			if f.Node == step && since.IsZero() && !away {
				opened = cmp.Or(opened, e.At)
			}
		case rules.Redirected:
			away = away || f.Node == step && since.IsZero()
		case rules.Dispatched:
			switch {
			case f.Node == step && !away && since.IsZero():
				return f.Provider, e.At
			case f.Node == step:
				return f.Provider, since
			}
		}
	}
	w, waits := m.before.WaitAt(step)
	if !waits {
		w = m.before.Wait()
	}
	switch {
	case away || !since.IsZero():
	case w.Returned:
		since = cmp.Or(opened, w.Since)
	case !w.Away():
		since = w.DispatchedAt
	}
	return w.Provider, since
}
