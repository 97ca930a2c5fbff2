//go:build linux || darwin

package metrics

import "golang.org/x/sys/unix"

// diskSpace is how much of a disk the program may still use, and how large it is; not ok if that is unknown.
func diskSpace(folder string) (free, size uint64, ok bool) {
	var s unix.Statfs_t
	if folder == "" || unix.Statfs(folder, &s) != nil {
		return 0, 0, false
	}
	block := uint64(s.Bsize) // the types differ between systems
	return uint64(s.Bavail) * block, s.Blocks * block, true
}
