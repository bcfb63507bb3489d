// The disk of a folder, and how much of it stays free.

package datadir

import (
	"fmt"
	"syscall"
)

// The reserve of a disk without a setting: a share of the file system, within bounds. The upper
// bound is for large disks, on which a share would be more than a host ever needs.
const (
	reserveShare = 20 // the denominator: 5 %
	leastReserve = 1 << 30
	mostReserve  = 20 << 30
)

// Disk is the size of a file system, and what a process may use of it, in bytes.
type Disk struct{ All, Free int64 }

// DiskOf returns the file system of a folder.
func DiskOf(dir string) (Disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Disk{}, fmt.Errorf("find out the free space of %s: %w", dir, err)
	}
	block := int64(s.Bsize) //nolint:unconvert // another type on other systems
	return Disk{int64(s.Blocks) * block, int64(s.Bavail) * block}, nil
}

// Reserve returns the free space below which a host takes no new runs and no uploads: the setting, unless it is 0.
func (d Disk) Reserve(setting int64) int64 {
	if setting != 0 {
		return setting
	}
	return min(max(d.All/reserveShare, leastReserve), mostReserve)
}
