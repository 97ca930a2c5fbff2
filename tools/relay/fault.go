package relay

import (
	"net"
	"time"
)

// write forwards bytes as the current fault allows.
func (r *Relay) write(to net.Conn, bytes []byte) error {
	began := time.Now()
	for len(bytes) > 0 {
		fault, changed, closed := r.state()
		part, wait := bytes, time.Duration(0)
		switch {
		case closed:
			return net.ErrClosed
		case fault == Silent:
			<-changed
			continue
		case fault == Slow:
			wait = slowBy - time.Since(began)
		case fault == Trickle:
			part, wait = bytes[:1], trickleEvery
		}
		if wait > 0 && !waitUnlessChanged(wait, changed) {
			continue
		}
		n, err := to.Write(part)
		if err != nil {
			return err
		}
		bytes = bytes[n:]
	}
	return nil
}

func (r *Relay) state() (fault Fault, changed chan struct{}, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault, r.changed, r.closed
}

// waitUnlessChanged waits, and returns false if the fault changes first.
func waitUnlessChanged(wait time.Duration, changed chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-changed:
		return false
	}
}
