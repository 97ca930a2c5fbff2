//go:build unix

package push

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// tryWrite writes what a connection takes without waiting.
func tryWrite(nc net.Conn, text []byte) (n int, err error) {
	if waits(nc) {
		return 0, nil
	}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return writeSome(nc, text)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return writeSome(nc, text)
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, failed = syscall.Write(int(fd), text) // which does not wait: so the runtime has opened it
			if !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(failed, syscall.EAGAIN):
		return 0, nil
	case failed != nil:
		return 0, os.NewSyscallError("write", failed)
	}
	return n, nil
}
