// Package memfile keeps bytes in files that exist only in memory. The kernel sends them to a connection from where they
// are, and a thousand clients that read the same response share one copy of it, where bytes of a program are copied for
// each of them.
//
// A file is removed when nothing refers to it any more, as the garbage collector finds. So a client that reads slowly
// keeps the file that it reads from, and nothing else. What was sent and not yet received belongs to the kernel.
package memfile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// File is a file in memory that does not change.
type File struct{ fd, size int }

const (
	// maxFiles bounds the files that a process has: each takes a file descriptor.
	maxFiles = 256
	// descriptorShare is the part of a process's file descriptors that may be for files, where these are few.
	descriptorShare = 16
)

var files atomic.Int64

// Most is how many files a process may have at a time, of so many file descriptors.
func Most(descriptors int) int { return min(maxFiles, descriptors/descriptorShare) }

var most = sync.OnceValue(func() int64 { return int64(Most(descriptorLimit())) })

// New makes a file of some parts. It returns nil where there are no such files, or too many: who has none must be able
// to do without.
func New(parts [][]byte) *File {
	if files.Add(1) > most() {
		files.Add(-1)
		return nil
	}
	fd, size, err := create(parts)
	if err != nil {
		files.Add(-1)
		return nil
	}
	f := &File{fd, size}
	runtime.AddCleanup(f, func(fd int) {
		remove(fd)
		files.Add(-1)
	}, fd)
	return f
}

// Descriptor is that of the file, as long as something refers to the file.
func (f *File) Descriptor() int { return f.fd }

// Size is how many bytes the file has.
func (f *File) Size() int { return f.size }
