// What only tests may do.

package pdfpage

import (
	"sync"

	"github.com/tetratelabs/wazero"
)

// compiled is the library of all drawers of NewShared.
var compiled = sync.OnceValue(wazero.NewCompilationCache)

// NewShared returns a drawer that shares the compiled library with other drawers of the tests, because
// compiling it takes seconds.
func NewShared(o Options) *Drawer {
	d := New(o)
	d.cacheOfCode = compiled
	return d
}
