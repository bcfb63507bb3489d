// The memory in which the library draws a page, and whether the process has room for it.

package pdfpage

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/verifyd/verifyd/verification"
)

// The memory that drawing takes, in bytes.
const (
	// DrawBytes is what a page takes while it is drawn: the instance, the file, the picture. A
	// Drawer draws one page at a time.
	DrawBytes = instanceBytes + 40<<20

	instanceBytes = 64 << 20
	codeBytes     = 48 << 20  // from the first page on
	compileBytes  = 350 << 20 // for some seconds
)

// errFull is the error of a page that an instance has no memory for.
var errFull = errors.New("it takes more than 64 MiB of memory")

// memory is the memory of one instance: a range of addresses that the system fills with pages
// as they are written. wazero would copy a slice to a larger one whenever the instance grows,
// and leave both to the garbage collector.
type memory struct {
	all  []byte
	full bool // the instance wanted more: it may have left something out
}

// renew replaces the memory by an empty one. No instance may use the memory before.
func (m *memory) renew() error {
	m.release()
	all, err := syscall.Mmap(-1, 0, instanceBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return noRoom(err)
	}
	*m = memory{all: all}
	setAside(instanceBytes)
	return nil
}

// release returns the memory to the system. No instance may use it.
func (m *memory) release() {
	if m.all != nil {
		_ = syscall.Munmap(m.all)
		m.all = nil
		setAside(-instanceBytes)
	}
}

// Allocate returns m, which has room for one instance.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate returns nil, so that the instance cannot grow, if size exceeds m.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		m.full = true
		return nil
	}
	return m.all[:size]
}

// Free does nothing: an instance that was stopped may still be running.
func (m *memory) Free() {}

// setAside lowers the memory limit of the Go runtime by bytes that the process uses outside of the
// runtime, which would otherwise fill the same room with garbage. A negative number raises it again.
func setAside(bytes int64) {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit - bytes)
	}
}

// room returns ErrUnavailable unless the memory limit of the Go runtime leaves room for some bytes.
func room(bytes int64) error {
	limit := debug.SetMemoryLimit(-1) // reads it
	if used() <= limit-bytes {
		return nil
	}
	debug.FreeOSMemory() // some of it is garbage
	if u := used(); u > limit-bytes {
		return noRoom(fmt.Errorf("it takes up to %d MiB, and %d of the %d MiB of the memory limit are in use", bytes>>20, u>>20, limit>>20))
	}
	return nil
}

// used returns the bytes that the memory limit counts.
func used() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// noRoom is the error of a page that the host has no memory for. It may have some later.
func noRoom(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "document", Message: "the host has no memory left to draw the document", Cause: cause,
	}
}
