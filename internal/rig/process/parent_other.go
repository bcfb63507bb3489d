//go:build !linux

// Without Linux, processes outlive the one that started them.

package process

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
