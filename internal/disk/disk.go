// Package disk asks the system about the disk that a folder is on.
package disk

// Space is how much of a disk the program may still use, and how large it is, in bytes.
type Space struct{ Free, Size uint64 }

// Kind is what becomes of a file on a disk.
type Kind int

// A file is on a disk of this machine, on another machine, or only in memory.
const (
	Local Kind = iota
	Network
	Memory
)
