//go:build unix

package main

import (
	"math"
	"syscall"
)

// descriptorLimit is how many files and connections this process may have open at a time.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
