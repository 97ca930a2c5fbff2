//go:build !386 && !arm && !mips && !mipsle

package http1

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"github.com/assaydata/assay/internal/memfile"
)

// newSocket returns the fastest way to use a connection.
func newSocket(nc net.Conn) socket {
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return newRawSocket(nc, raw)
		}
	}
	return &anySocket{nc: nc}
}

// rawSocket makes the system calls of a connection itself. They never block, so that the scheduler need not know of
// them; that and the layers between are what they save. While the connection has nothing to read, it needs no buffer.
type rawSocket struct {
	nc  net.Conn
	raw syscall.RawConn

	// For the functions that raw calls, which are made once.
	conn        *conn
	errno       syscall.Errno
	pieces      []syscall.Iovec
	count, sent int
	flags       int
	message     syscall.Msghdr
	file        *memfile.File
	offset      int64 // in the file
	readable    func(fd uintptr) bool
	writable    func(fd uintptr) bool
	sendable    func(fd uintptr) bool
}

func newRawSocket(nc net.Conn, raw syscall.RawConn) *rawSocket {
	s := &rawSocket{nc: nc, raw: raw}
	s.readable, s.writable, s.sendable = s.tryRead, s.tryWrite, s.trySendFile
	return s
}

func (s *rawSocket) read(c *conn) error {
	s.conn = c
	if err := s.raw.Read(s.readable); err != nil {
		return err
	}
	if s.errno != 0 {
		return os.NewSyscallError("read", s.errno)
	}
	if s.count == 0 {
		return io.EOF
	}
	return nil
}

// tryRead reports whether there was something to read, or an error.
func (s *rawSocket) tryRead(fd uintptr) bool {
	room := s.conn.room()
	s.count, s.errno = call(syscall.SYS_RECVFROM, fd, unsafe.Pointer(&room[0]), len(room), 0) //nolint:gosec // G103: ours
	if s.errno == syscall.EAGAIN {
		if len(s.conn.in) == 0 {
			s.conn.release()
		}
		return false
	}
	s.conn.in = s.conn.in[:len(s.conn.in)+s.count]
	return true
}

// call makes a system call that does not block. Those for sockets alone do less than read and write.
func call(trap, fd uintptr, at unsafe.Pointer, third, flags int) (n int, errno syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(trap, fd, uintptr(at), uintptr(third), uintptr(flags), 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

// maxPieces is how many pieces the kernel takes in one call.
const maxPieces = 1024

func (s *rawSocket) write(head []byte, body [][]byte) error { return s.writeAll(head, body, 0) }

// writeAll is write with flags of the system call.
func (s *rawSocket) writeAll(head []byte, body [][]byte, flags int) error {
	s.add(head)
	size := len(head)
	for _, piece := range body {
		size += len(piece)
		s.add(piece)
	}
	s.count, s.flags = min(len(s.pieces), maxPieces), flags
	err := s.raw.Write(s.writable)
	clear(s.pieces)
	s.pieces = s.pieces[:0]
	switch {
	case err != nil:
		return err
	case s.errno != 0 && s.errno != syscall.EAGAIN:
		return os.NewSyscallError("write", s.errno)
	case s.sent < size: // the client has to read first
		return s.writeRest(head, body)
	}
	return nil
}

func (s *rawSocket) add(piece []byte) {
	if len(piece) > 0 {
		s.pieces = append(s.pieces, syscall.Iovec{Base: &piece[0], Len: uint64(len(piece))})
	}
}

// writeRest writes what tryWrite has left, and waits for the client as long as that takes.
func (s *rawSocket) writeRest(head []byte, body [][]byte) error {
	rest := append(net.Buffers{head}, body...)
	for s.sent >= len(rest[0]) {
		s.sent -= len(rest[0])
		rest = rest[1:]
	}
	rest[0] = rest[0][s.sent:]
	_, err := rest.WriteTo(s.nc)
	return err
}

// tryWrite writes once, as much as there is room for.
func (s *rawSocket) tryWrite(fd uintptr) bool {
	if first := &s.pieces[0]; s.count == 1 {
		at, size := unsafe.Pointer(first.Base), int(first.Len) //nolint:gosec // G103, G115: ours
		s.sent, s.errno = call(syscall.SYS_SENDTO, fd, at, size, s.flags)
		return true
	}
	s.message.Iov, s.message.Iovlen = &s.pieces[0], uint64(s.count)
	s.sent, s.errno = call(syscall.SYS_SENDMSG, fd, unsafe.Pointer(&s.message), s.flags, 0) //nolint:gosec // G103: ours
	s.message.Iov = nil
	return true
}

// msgMore says that more follows at once, so that a packet need not be sent before it is full.
const msgMore = 0x8000

// writeFile waits for the client as long as it takes. Meanwhile it keeps nothing but the file.
func (s *rawSocket) writeFile(head []byte, f *memfile.File) error {
	if err := s.writeAll(head, nil, msgMore); err != nil {
		return err
	}
	s.file, s.offset = f, 0
	err := s.raw.Write(s.sendable)
	s.file = nil
	if err == nil && s.errno != 0 {
		err = os.NewSyscallError("sendfile", s.errno)
	}
	return err
}

// trySendFile sends as much as there is room for. It reports whether that was all, or failed.
func (s *rawSocket) trySendFile(fd uintptr) bool {
	from, at := uintptr(s.file.Descriptor()), unsafe.Pointer(&s.offset) //nolint:gosec // G103: ours
	for s.errno = 0; s.offset < int64(s.file.Size()); {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDFILE, fd, from, uintptr(at), uintptr(s.file.Size()), 0, 0)
		switch {
		case errno == syscall.EAGAIN:
			return false
		case errno == syscall.EINTR:
		case errno != 0:
			s.errno = errno
			return true
		case n == 0:
			s.errno = syscall.EIO // the file is shorter than it was
			return true
		}
	}
	return true
}
