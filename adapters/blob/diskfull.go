// A disk without room.

package blob

import (
	"errors"
	"syscall"
)

// DiskFull returns ErrUnavailable for an error that says that the disk is full,
// or that a limit of the operating system is reached. Other errors are returned
// as they are.
func DiskFull(err error) error {
	for _, code := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, code) {
			return full("the disk has no room for more documents", err)
		}
	}
	return err
}
