// The share that one key may have of what all of them share.

package fair

// Share returns how much of limit one key may have while the other keys have others of it:
// the part, 0 to 1, of what they leave. So a key that takes all that it may leaves room for
// every other key, also for one that has nothing yet. A key that is alone may have all.
func Share(limit, others int64, part float64, alone bool) int64 {
	left := max(0, limit-others)
	if alone || part == 0 {
		return left
	}
	return int64(part * float64(left))
}
