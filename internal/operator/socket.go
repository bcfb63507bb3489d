// The socket in the data folder.

package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/verifyd/verifyd/internal/datadir"
)

const (
	// longest is the longest address of a socket, in bytes. Systems allow 103 to 107.
	longest = 100
	// socketMode lets only the user of the host, and root, call it.
	socketMode = 0o600
)

// at calls f with an address of the socket of a folder, which is valid until f returns.
func at(folder datadir.Folder, f func(address string) error) error {
	socket := folder.Socket()
	if len(socket) <= longest {
		return f(socket)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s is too long for the address of a socket: use a data folder whose path has at most %d bytes",
			socket, longest-len(filepath.Base(socket))-1)
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // nothing was written
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)))
}

// listen listens on the socket of a folder. The caller holds the folder, so that a socket that
// is there is of a process that has died.
func listen(ctx context.Context, folder datadir.Folder) (l net.Listener, err error) {
	info, err := os.Lstat(folder.Socket())
	if err == nil && info.Mode().Type() == fs.ModeSocket {
		err = os.Remove(folder.Socket())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// On Linux, this is the mode of the socket from the beginning.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), socketMode) })
	}}
	err = at(folder, func(address string) (err error) {
		l, err = private.Listen(ctx, "unix", address)
		return err
	})
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // its address is valid no more
	}
	if err := os.Chmod(folder.Socket(), socketMode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// dial connects to the socket of a folder.
func dial(ctx context.Context, folder datadir.Folder) (c net.Conn, err error) {
	err = at(folder, func(address string) (err error) {
		var d net.Dialer
		c, err = d.DialContext(ctx, "unix", address)
		return err
	})
	return c, err
}
