// Processes end with the one that started them.

package process

import "syscall"

func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
