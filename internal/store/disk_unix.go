//go:build unix

package store

import "syscall"

// noRoom is what the system reports when a disk is full.
const noRoom = syscall.ENOSPC
