package memfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// create returns the descriptor of a new file, and how many bytes it has.
func create(parts [][]byte) (fd, size int, err error) {
	fd, err = unix.MemfdCreate("assay", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, 0, os.NewSyscallError("memfd_create", err)
	}
	for _, part := range parts {
		size += len(part)
		err = errors.Join(err, write(fd, part))
	}
	const unchangeable = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, sealed := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unchangeable)
	if err := errors.Join(err, os.NewSyscallError("fcntl", sealed)); err != nil {
		remove(fd)
		return 0, 0, err
	}
	return fd, size, nil
}

func write(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("write", err)
		}
		data = data[max(0, n):]
	}
	return nil
}

func remove(fd int) { _ = unix.Close(fd) } // its memory is freed in any case

// descriptorLimit is how many file descriptors the process may have.
func descriptorLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
