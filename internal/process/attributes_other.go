//go:build !linux

// Process attributes of other systems than Linux, where hosts outlive a killed process
// until you end them.

package process

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
