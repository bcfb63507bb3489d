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

	"github.com/verifyd/verifyd/hosts/internal/datadir"
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
//
// The caller calls remove, which removes the socket unless it is of a later host.
func listen(ctx context.Context, folder datadir.Folder) (l net.Listener, remove func(), err error) {
	info, err := os.Lstat(folder.Socket())
	if err == nil && info.Mode().Type() == fs.ModeSocket {
		err = os.Remove(folder.Socket())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
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
		return nil, nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // its address is valid no more
	}
	if err := os.Chmod(folder.Socket(), socketMode); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	own, err := os.Lstat(folder.Socket())
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, func() {
		if there, err := os.Lstat(folder.Socket()); err == nil && os.SameFile(own, there) {
			_ = os.Remove(folder.Socket()) // the next host does
		}
	}, nil
}

// dial connects to the socket of a folder. It returns errStranger if another user than the owner of
// the folder serves it: other users could put a socket into a folder that they can write.
func dial(ctx context.Context, folder datadir.Folder) (c net.Conn, err error) {
	owner, err := ownerOf(string(folder))
	if err != nil {
		return nil, err
	}
	socket, err := ownerOf(folder.Socket())
	if err != nil {
		return nil, err
	}
	err = at(folder, func(address string) (err error) {
		var d net.Dialer
		c, err = d.DialContext(ctx, "unix", address)
		return err
	})
	if err != nil {
		return nil, err
	}
	peer := socket
	if u, ok := c.(*net.UnixConn); ok {
		if peer, err = peerOf(u, socket); err != nil {
			return nil, errors.Join(fmt.Errorf("find out who serves %s: %w", folder.Socket(), err), c.Close())
		}
	}
	if err := stranger(folder, owner, socket, peer); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// stranger returns errStranger unless the owner of a folder, or the user of this process, serves its
// socket.
func stranger(folder datadir.Folder, owner int, served ...int) error {
	for _, uid := range served {
		if uid != owner && uid != os.Geteuid() {
			return fmt.Errorf("%w: the user with the id %d serves %s, and the user with the id %d owns the folder: "+
				"find out who has made the socket, remove it, and let only its owner write to the folder: chmod 700 %s",
				errStranger, uid, folder.Socket(), owner, folder)
		}
	}
	return nil
}

// errStranger is returned for a socket that another user serves.
var errStranger = errors.New("the socket is not of the host of this folder")

// ownerOf returns the id of the user who owns a file.
func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("find out who owns %s: %w", path, errors.ErrUnsupported)
	}
	return int(s.Uid), nil
}
