//go:build !unix

package push

import "net"

// tryWrite writes what a connection takes without waiting for long.
func tryWrite(nc net.Conn, text []byte) (n int, err error) {
	if waits(nc) {
		return 0, nil
	}
	return writeSome(nc, text)
}
