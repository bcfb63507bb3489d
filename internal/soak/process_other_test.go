//go:build !linux

// Where there is no Linux, hosts that a killed test binary left must be ended by hand.

package soak_test

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
