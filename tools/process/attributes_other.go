//go:build !linux

package process

import "syscall"

// DieWithUs is a promise only Linux keeps; elsewhere the programs that use it compile, but they read /proc and so do not run.
func DieWithUs(syscall.Signal, *syscall.Credential) *syscall.SysProcAttr { return nil }
