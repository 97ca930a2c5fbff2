package main

import "syscall"

// freeSpace is how many bytes we may still write below dir.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * s.Bsize, err
}
