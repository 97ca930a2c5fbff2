//go:build unix

package store

import "syscall"

// noRoom is what the system reports when a disk is full.
const noRoom = syscall.ENOSPC

// readOnlyDisk is the error of a disk that may not be written.
const readOnlyDisk = syscall.EROFS
