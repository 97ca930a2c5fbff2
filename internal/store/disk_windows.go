package store

import "golang.org/x/sys/windows"

// noRoom is what the system reports when a disk is full.
const noRoom = windows.ERROR_DISK_FULL

// readOnlyDisk is the error of a disk that may not be written.
const readOnlyDisk = windows.ERROR_WRITE_PROTECT
