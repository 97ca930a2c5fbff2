//go:build !linux || 386 || arm || mips || mipsle

package http1

import "net"

// newSocket returns the fastest way to use a connection.
func newSocket(nc net.Conn) socket { return &anySocket{nc: nc} }
