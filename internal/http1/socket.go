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
	pieces  [][]byte // the memory of buffers
	buffers net.Buffers
}

func (s *anySocket) read(c *conn) error {
	n, err := s.nc.Read(c.room())
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	return err
}

func (s *anySocket) write(head []byte, body [][]byte) error {
	s.pieces = append(append(s.pieces[:0], head), body...)
	s.buffers = s.pieces
	_, err := s.buffers.WriteTo(s.nc)
	clear(s.pieces)
	return err
}
