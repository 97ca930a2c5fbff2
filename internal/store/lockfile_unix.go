//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file, unless another process holds it. Closing the file releases it.
func tryLock(file *os.File) (locked bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
