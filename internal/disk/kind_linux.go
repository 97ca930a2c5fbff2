package disk

import "golang.org/x/sys/unix"

// KindOf returns what kind of file system a folder is on.
func KindOf(folder string) Kind {
	var stat unix.Statfs_t
	if unix.Statfs(folder, &stat) != nil {
		return Local
	}
	switch uint32(stat.Type) { //nolint:gosec // G115: the numbers have 32 bits; the type is wider on some machines
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC:
		return Network
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return Memory
	}
	return Local
}
