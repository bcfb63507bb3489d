// Room for a file on Linux.

package journal

import (
	"errors"
	"os"
	"syscall"
)

// allocate gives a file room on the disk for a size. It does not change the length of the file.
func allocate(f *os.File, size int64) error {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	for {
		if err := syscall.Fallocate(int(f.Fd()), keepSize, 0, size); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
