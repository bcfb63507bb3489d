package operator_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
)

func TestAFolderThatCannotBeReadNamesItsUser(t *testing.T) {
	folder := datadir.Folder(t.TempDir())
	if err := os.Chmod(string(folder), 0); err != nil {
		t.Fatal(err)
	}
	examined := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, and no other gets its user
		const other = 54321
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, other, 0, 0) // it fails unless root calls it; then the user is no root
		examined <- operator.Examine(folder)
	}()
	if err := <-examined; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "run this command as the user who owns the folder") {
		t.Errorf("Examine = %v, want that another user runs the command", err)
	}
}
