package storetest

import (
	"net/url"
	"testing"

	"github.com/assaydata/assay/tools/relay"
)

// Wire is a connection to a server that a test can interrupt.
type Wire struct {
	t     testing.TB
	relay *relay.Relay
}

// NewWire opens a wire to the server at an address and closes it when the test ends.
func NewWire(t testing.TB, address string) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the address of the server is invalid")
	}
	w := &Wire{t: t}
	if w.relay, err = relay.Open(u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.relay.Close() })
	return w
}

// Of returns an address with the host of the wire in place of the server's.
func (w *Wire) Of(address string) string { return at(address, w.relay.Address()) }

// Cut ends all connections and refuses new ones.
func (w *Wire) Cut() { w.set(relay.Reset) }

// Stall keeps connections open but passes no data, as if a cable were pulled.
func (w *Wire) Stall() { w.set(relay.Silent) }

// Mend passes data and connections again.
func (w *Wire) Mend() { w.set(relay.None) }

func (w *Wire) set(fault relay.Fault) {
	w.t.Helper()
	if err := w.relay.Set(fault); err != nil {
		w.t.Fatal(err)
	}
}
