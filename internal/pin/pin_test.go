package pin_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/internal/pin"
	"github.com/assaydata/assay/verifier"
)

const logName = "assay/test"

// host shows the key of a log and its events.
type host struct {
	t           *testing.T
	log         *logtest.Log
	vkey        string
	events      string
	url, folder string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, log: logtest.New(t, logName), folder: t.TempDir()}
	h.log.Add("an entry")
	h.vkey = h.log.Key
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		switch in.URL.Path {
		case "/log/vkey":
			_, _ = io.WriteString(out, h.vkey+"\n")
		case "/log/keys":
			_, _ = io.WriteString(out, h.events)
		}
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// change lets another key sign.
func (h *host) change(action, key string, signers ...string) {
	h.t.Helper()
	text := logtest.KeyEvent(logName, strings.Count(h.events, "\n")+1, action, key, signers...)
	h.events += text + "\n"
	h.log.Use(logtest.KeyOf(key))
	h.vkey = h.log.Key
}

func (h *host) open(accepted ...string) *pin.Pin {
	h.t.Helper()
	p, err := pin.Open(h.t.Context(), h.folder, h.url, accepted)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// check reports whether the checkpoint of the host is accepted, with what is known or after following the key.
func (h *host) check(p *pin.Pin, follow bool) error {
	h.t.Helper()
	log, err := p.Log()
	if follow {
		log, err = p.Follow(h.t.Context())
	}
	if err == nil {
		_, err = log.Open(h.log.Checkpoint(1))
	}
	return err
}

func TestPin(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	first := h.vkey
	p := h.open()
	if err := h.check(p, false); err != nil || !p.IsNew || p.Key != first {
		t.Fatalf("at the first contact: %+v, %v", p, err)
	}
	h.change(verifier.KeyBegin, logName, logName)
	h.change(verifier.KeyRotate, "b", logName, "b")
	p = h.open()
	if err := h.check(p, false); !errors.Is(err, verifier.ErrNotSigned) || p.IsNew || p.Key != first {
		t.Errorf("the key was kept, but: %+v, %v", p, err)
	}
	if err := h.check(p, true); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	if err := h.check(h.open(), false); err != nil {
		t.Errorf("after a rotation and a restart: %v", err)
	}
	followed := h.events
	h.events = ""
	h.change(verifier.KeyBegin, logName, logName)
	h.change(verifier.KeyRotate, "c", logName, "c")
	if err := h.check(p, true); !errors.Is(err, verifier.ErrNotSigned) || !strings.Contains(err.Error(), "it had before") {
		t.Errorf("a second history of the key: %v", err)
	}
	h.events = followed
	h.change(verifier.KeyAccept, "d", "d")
	if err := h.check(p, true); !errors.Is(err, verifier.ErrKeyReplaced) {
		t.Errorf("a replaced key: %v", err)
	}
	if err := h.check(h.open(h.vkey), true); err != nil {
		t.Errorf("a replaced key that the user accepts: %v", err)
	}
}

// With keys that the user has from elsewhere, the server is not believed.
func TestPin_Told(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.log.Use(logtest.KeyOf("b"))
	told := h.log.Key
	p := h.open(told)
	if p.Key != told {
		t.Errorf("the key is %s, want %s", p.Key, told)
	}
	h.log.Use(logtest.KeyOf(logName))
	if err := h.check(h.open(), false); !errors.Is(err, verifier.ErrNotSigned) {
		t.Errorf("the server's own key: %v", err)
	}
	other := logtest.New(t, "assay/other").Key
	if _, err := pin.Open(t.Context(), t.TempDir(), h.url, []string{other}); err == nil {
		t.Error("a log of another name is accepted")
	}
}
