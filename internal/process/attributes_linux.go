// Hosts end with the process that started them.

package process

import "syscall"

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
