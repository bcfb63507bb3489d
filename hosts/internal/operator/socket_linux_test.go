// Tests of sockets that are not of the host.

package operator_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
)

const anotherUser = 54321

// as calls f as another user, in a thread that ends with it. It fails unless root calls it.
func as(uid int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, and no other gets its user
		const same = ^uintptr(0)
		if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(uid), same); failed != 0 {
			done <- failed
			return
		}
		done <- f()
	}()
	return <-done
}

func TestAPlantedSocketIsNotUsed(t *testing.T) {
	if os.Geteuid() != 0 { // only root can be another user; TestOnlyTheOwnerServesAFolder compares without
		t.Logf("the user %d plants no socket", os.Geteuid())
		return
	}
	for name, owner := range map[string]int{"the file is of the other user": anotherUser, "the file was given to the owner": os.Geteuid()} {
		folder := datadir.Folder(filepath.Join(t.TempDir(), "data"))
		if err := os.MkdirAll(folder.Journal(), 0o700); err != nil {
			t.Fatal(err)
		}
		open := []error{os.Chmod(string(folder), 0o777)}
		for parent := filepath.Dir(string(folder)); parent != os.TempDir() && len(open) < 4; parent = filepath.Dir(parent) {
			open = append(open, os.Chmod(parent, 0o755))
		}
		if err := errors.Join(open...); err != nil {
			t.Fatal(err)
		}
		var planted *net.UnixListener
		err := as(anotherUser, func() (err error) {
			planted, err = net.ListenUnix("unix", &net.UnixAddr{Name: folder.Socket(), Net: "unix"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(folder.Socket(), owner, owner); err != nil {
			t.Fatal(err)
		}
		_, err = operator.Open(t.Context(), folder, operator.Options{})
		if !errors.Is(err, operator.ErrStranger) || !strings.Contains(err.Error(), "the user with the id 54321 serves "+folder.Socket()) {
			t.Errorf("%s: Open = %v, want who serves the socket", name, err)
		}
		_ = planted.SetDeadline(time.Now().Add(time.Second)) // nothing is sent to it
		if c, err := planted.Accept(); err == nil {
			n, _ := c.Read(make([]byte, 1))
			_ = c.Close()
			if n > 0 {
				t.Errorf("%s: the socket was sent something", name)
			}
		}
		_ = planted.Close()
	}
}

func TestOnlyTheOwnerServesAFolder(t *testing.T) {
	me := os.Geteuid()
	for _, tt := range []struct {
		owner, socket, peer int
		want                error
	}{
		{me, me, me, nil},
		{anotherUser, anotherUser, anotherUser, nil}, // root works for its owner
		{anotherUser, me, me, nil},                   // a folder that an administrator has made
		{me, anotherUser, anotherUser, operator.ErrStranger},
		{me, me, anotherUser, operator.ErrStranger},
		{me, anotherUser, me, operator.ErrStranger},
		{anotherUser, anotherUser, anotherUser + 1, operator.ErrStranger},
	} {
		if err := operator.Stranger("data", tt.owner, tt.socket, tt.peer); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("a folder of %d, a socket of %d, a process of %d: %v, want %v", tt.owner, tt.socket, tt.peer, err, tt.want)
		}
	}
}
