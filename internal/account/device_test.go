package account

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// signInWith signs in on a device and returns the token that the device gets.
func (h *house) signInWith(device, email string) string {
	h.t.Helper()
	in, err := h.SignIn(h.ctx(), Client{Device: device}, email, password)
	h.must(err)
	if in.Device.Expires != h.at+DeviceLength || in.Device.Reveal() == in.Session.Reveal() {
		h.t.Errorf("the device %v lasts until %d", in.Device, in.Device.Expires)
	}
	return in.Device.Reveal()
}

func (h *house) wantDevice(known bool, token, email string) {
	h.t.Helper()
	if got := h.KnowsDevice(token, email); got != known {
		h.t.Errorf("the device is known to %s: %t, want %t", email, got, known)
	}
}

func TestDevice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testDevice)
}

func testDevice(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	const ann, bob = "ann@example.com", "bob@example.com"
	h.enrol(ann)
	h.enrol(bob)
	first := h.signInWith("", ann)
	h.wantDevice(true, first, " ANN@example.com")
	h.wantDevice(false, first, bob)
	h.wantDevice(false, first, "nobody@example.com")
	h.wantDevice(false, random(), ann)
	h.wantDevice(false, "", ann)
	if again := h.signInWith(first, ann); again != first {
		t.Error("a known device gets another token")
	}

	// Another account on the same device: a new token for both, and the old one is worth nothing.
	second := h.signInWith(first, bob)
	h.wantDevice(true, second, ann)
	h.wantDevice(true, second, bob)
	h.wantDevice(false, first, ann)

	// A token that no one got is not taken over.
	planted := random()
	if got := h.signInWith(planted, ann); got == planted {
		t.Error("a planted token becomes a device")
	}
	h.wantDevice(false, planted, ann)

	h.another().wantDevice(true, second, ann)

	// A device that signs in now and then is remembered, others are not.
	h.at += DeviceLength - 1
	h.wantDevice(true, second, ann)
	h.signInWith(second, ann)
	h.at++
	h.wantDevice(true, second, ann)
	h.wantDevice(false, second, bob)

	h.must(h.CloseAccount(h.ctx(), ann))
	h.wantDevice(false, second, ann)
}

// An account's devices are bounded: those that signed in last are remembered.
func TestDevice_Bounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testDeviceBounded)
}

func testDeviceBounded(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	h.enrol("ann@example.com")
	var tokens []string
	for range 25 {
		h.at += assay.Second
		tokens = append(tokens, h.signInWith("", "ann@example.com"))
	}
	for i, token := range tokens {
		h.wantDevice(i >= 5, token, "ann@example.com")
	}
	if list, _, err := h.Store.Devices(h.ctx()); err != nil || len(list) != 20 {
		t.Errorf("%d devices are stored (%v)", len(list), err)
	}
}
