// The folder of files that are kept in memory, on Linux.

package pgtest

import "syscall"

// memory is a folder of files that are kept in memory.
const memory = "/dev/shm"

// hasMemory reports whether files can be written there, and at least 8 GiB are free: tests need up to 2.
func hasMemory() bool {
	const tmpfs = 0x01021994
	var s syscall.Statfs_t
	return syscall.Access(memory, write|enter) == nil && syscall.Statfs(memory, &s) == nil && s.Type == tmpfs && s.Bavail*uint64(s.Bsize) >= 8<<30
}
