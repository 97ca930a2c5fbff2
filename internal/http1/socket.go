package http1

import "net"

// socket reads and writes a connection.
type socket interface {
	// read waits for bytes and adds them to c.in.
	read(c *conn) error
	// write writes two pieces, one after the other. The second may be empty.
	write(head, body []byte) error
}

// anySocket is any connection.
type anySocket struct {
	nc      net.Conn
	pieces  [2][]byte
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

func (s *anySocket) write(head, body []byte) error {
	s.pieces = [2][]byte{head, body}
	s.buffers = s.pieces[:]
	_, err := s.buffers.WriteTo(s.nc)
	s.pieces = [2][]byte{}
	return err
}
