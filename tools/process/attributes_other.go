//go:build !linux

package process

import "syscall"

// EndWithParent does nothing outside Linux. The programs that use it compile there, but they read /proc, so they do not
// run.
func EndWithParent(syscall.Signal, *syscall.Credential) *syscall.SysProcAttr { return nil }
