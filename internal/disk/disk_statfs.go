//go:build linux || darwin

package disk

import "golang.org/x/sys/unix"

// SpaceOf returns the space of the disk that a folder is on; not ok if that is unknown.
func SpaceOf(folder string) (s Space, ok bool) {
	var stat unix.Statfs_t
	if folder == "" || unix.Statfs(folder, &stat) != nil {
		return s, false
	}
	block := uint64(stat.Bsize) // the types differ between systems
	return Space{Free: stat.Bavail * block, Size: stat.Blocks * block}, true
}
