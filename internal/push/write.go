package push

import (
	"errors"
	"net"
	"os"
	"time"
)

// Waiting is a connection of which a write cannot be interrupted and continued, such as one with TLS. The hub leaves
// every write of it to a goroutine, which may wait.
type Waiting interface{ WaitsToWrite() bool }

func waits(nc net.Conn) bool {
	w, ok := nc.(Waiting)
	return ok && w.WaitsToWrite()
}

// patience is how long writeSome waits for a connection that cannot say whether it would have to wait.
const patience = 5 * time.Millisecond

// writeSome writes what a connection takes within a moment.
func writeSome(nc net.Conn, text []byte) (n int, err error) {
	if err := nc.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err = nc.Write(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	if err == nil {
		err = nc.SetWriteDeadline(time.Time{})
	}
	return n, err
}
