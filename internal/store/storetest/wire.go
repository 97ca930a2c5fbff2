package storetest

import (
	"net/url"
	"testing"

	"github.com/assaydata/assay/tools/relay"
)

// Wire leads to a server, and can be spoiled.
type Wire struct {
	t     testing.TB
	relay *relay.Relay
}

// NewWire lays a wire to the server of an address; it goes away with the test.
func NewWire(t testing.TB, address string) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the address of the server is none")
	}
	w := &Wire{t: t}
	if w.relay, err = relay.Open(u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.relay.Close() })
	return w
}

// Of is an address of the server, over the wire.
func (w *Wire) Of(address string) string { return at(address, w.relay.Address()) }

// Cut ends all connections, and lets none through.
func (w *Wire) Cut() { w.set(relay.Reset) }

// Stall lets connections stay and nothing through, as when a cable is pulled.
func (w *Wire) Stall() { w.set(relay.Silent) }

// Mend lets everything through again.
func (w *Wire) Mend() { w.set(relay.None) }

func (w *Wire) set(fault relay.Fault) {
	w.t.Helper()
	if err := w.relay.Set(fault); err != nil {
		w.t.Fatal(err)
	}
}
