//go:build !linux

package main

import "syscall"

// dieWithUs is a promise only Linux keeps; elsewhere the program compiles, but it reads /proc and so does not run.
func dieWithUs(syscall.Signal) *syscall.SysProcAttr { return nil }
