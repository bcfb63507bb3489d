// What only tests may ask for.

package pdf

// Plain returns options with which the contents of pages are not compressed.
func Plain(o Options) Options {
	o.uncompressed = true
	return o
}
