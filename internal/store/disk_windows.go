package store

import "golang.org/x/sys/windows"

// noRoom is what the system reports when a disk is full.
const noRoom = windows.ERROR_DISK_FULL
