// Names that the tests of this package need besides the exported ones.

package bench

// Remaking makes Fill rebuild the indexes even for few runs.
func Remaking(o FillOptions) FillOptions {
	o.remake = true
	return o
}
