// What only tests may do.

package pdfpage

// MaxSide is the length of the longer side of a picture, in pixels.
const MaxSide = maxSide

// compiled is the library of all drawers of NewShared, as New makes it.
var compiled = New(Options{}).cacheOfCode

// NewShared returns a drawer that shares the compiled library with other drawers of the tests, because
// compiling it takes seconds.
func NewShared(o Options) *Drawer {
	d := New(o)
	d.cacheOfCode = compiled
	return d
}
