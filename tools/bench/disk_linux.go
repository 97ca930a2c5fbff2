package main

import "syscall"

// freeSpace is how many bytes can still be written below dir.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * s.Bsize, err
}
