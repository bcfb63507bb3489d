// The user on the other side of a socket, on Linux.

package operator

import (
	"errors"
	"net"
	"syscall"
)

// peerOf returns the id of the user whose process listens on the other side.
func peerOf(c *net.UnixConn, _ int) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
