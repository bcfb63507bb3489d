// Names exported for the tests of the table.

package noisy

import "time"

// MakeFigures returns the figures of calls with the given durations and errors.
func MakeFigures(took time.Duration, errs ...error) Figures {
	f := newFigures()
	for _, c := range Calls() {
		for range 100 {
			f[c].add(took, nil)
		}
		for _, err := range errs {
			f[c].add(took, err)
		}
	}
	return f
}
