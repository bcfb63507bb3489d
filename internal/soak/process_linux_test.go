// How the hosts are kept from outliving the test binary on Linux.

package soak_test

import "syscall"

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
