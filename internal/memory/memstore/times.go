// Times: a store keeps microseconds, as a database does.

package memstore

import "time"

// toMicrosecond returns a time as the store keeps it.
func toMicrosecond(at time.Time) time.Time { return at.Truncate(time.Microsecond) }
