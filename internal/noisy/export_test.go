// What the tests of the table need to make up a row.

package noisy

import "time"

// MakeFigures are figures of calls that each took as long as given, and failed with
// the errors given.
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
