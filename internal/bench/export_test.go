// What tests reach besides the exported names.

package bench

// Remaking makes Fill rebuild the indexes even for few runs.
func Remaking(o FillOptions) FillOptions {
	o.remake = true
	return o
}
