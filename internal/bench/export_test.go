// What tests reach besides the exported names.

package bench

// Remaking has a filling make the indexes anew, few as its runs may be.
func Remaking(o FillOptions) FillOptions {
	o.remake = true
	return o
}
