package http1

import (
	"net"

	"github.com/assaydata/assay/internal/memfile"
)

// socket reads and writes a connection.
type socket interface {
	// read waits for bytes and adds them to c.in.
	read(c *conn) error
	// write writes a head and the pieces of a body after it.
	write(head []byte, body [][]byte) error
}

// fileSocket is a socket that sends files without copying them.
type fileSocket interface {
	// writeFile writes a head and a file after it.
	writeFile(head []byte, f *memfile.File) error
}

// anySocket is any connection.
type anySocket struct {
	nc      net.Conn
	first   [1]byte
	pieces  [][]byte // the memory of buffers
	buffers net.Buffers
}

func (s *anySocket) read(c *conn) error {
	if c.tls != nil && c.buffers == nil {
		return s.readFirst(c)
	}
	n, err := s.nc.Read(c.room())
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	return err
}

// readFirst waits for a request without a buffer. TLS decrypts a record at a time, so that reading a byte by itself
// costs no system call.
func (s *anySocket) readFirst(c *conn) error {
	n, err := s.nc.Read(s.first[:])
	if n == 0 {
		return err
	}
	c.room()[0] = s.first[0]
	c.in = c.in[:1]
	return nil
}

func (s *anySocket) write(head []byte, body [][]byte) error {
	s.pieces = append(append(s.pieces[:0], head), body...)
	s.buffers = s.pieces
	_, err := s.buffers.WriteTo(s.nc)
	clear(s.pieces)
	return err
}
