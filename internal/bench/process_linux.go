package main

import "syscall"

// dieWithUs makes the kernel send the signal to a child when the thread that started it ends, however that comes about.
// A group of its own keeps Ctrl-C away from the child: we hear it and stop things in order.
func dieWithUs(s syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: s, Setpgid: true}
}
