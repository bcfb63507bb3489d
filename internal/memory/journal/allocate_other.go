//go:build !linux

// Room for a file on systems other than Linux.

package journal

import (
	"os"
	"syscall"
)

// allocate returns that this system cannot give a file room before it is written.
func allocate(*os.File, int64) error { return syscall.EOPNOTSUPP }
