package certs

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// watched are files that are read again when they change. What they hold is used together, so none is read alone.
type watched struct {
	names []string

	mu     sync.Mutex
	seen   []state // when they were last read; guarded by mu
	failed []state // which could not be used; guarded by mu
	logged bool    // that they could not; guarded by mu
}

// watch begins before the files are read, so that a change meanwhile is noticed later.
func watch(names ...string) watched {
	return watched{names: names, seen: states(names)}
}

// state tells two contents of a file apart.
type state struct {
	info os.FileInfo // nil if there is no such file
	at   time.Time
	size int64
}

func (s state) equals(o state) bool {
	if s.info == nil || o.info == nil {
		return s.info == o.info
	}
	return s.at.Equal(o.at) && s.size == o.size && os.SameFile(s.info, o.info)
}

func states(names []string) []state {
	list := make([]state, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			list[i] = state{info, info.ModTime(), info.Size()}
		}
	}
	return list
}

// changed reports whether the files are others than those that were read last, and notes the current ones.
func (w *watched) changed() bool {
	now := states(w.names)
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.EqualFunc(w.seen, now, state.equals) && w.failed == nil {
		return false
	}
	w.seen = now
	return true
}

// retry loads files that have changed. A failure counts only if the same files failed the last time too, because two
// files are replaced one after the other. It is logged once.
func (w *watched) retry(load func() error) (tell bool, err error) {
	err = load()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.failed, w.logged = nil, false
		return true, nil
	}
	again := w.failed != nil && slices.EqualFunc(w.failed, w.seen, state.equals)
	if !again {
		w.failed, w.logged = w.seen, false
		return false, nil
	}
	tell = !w.logged
	w.logged = true
	return tell, err
}

// pairFiles are a certificate and its key.
type pairFiles struct {
	watched
	current atomic.Pointer[tls.Certificate]
}

func newPairFiles(certFile, keyFile string) (*pairFiles, error) {
	p := &pairFiles{watched: watch(certFile, keyFile)}
	return p, p.load()
}

// load reads the files. If they cannot be used, those that were read before stay.
func (p *pairFiles) load() error {
	certFile, keyFile := p.names[0], p.names[1]
	cert, err := readSmall(certFile)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	if !hasBlock(cert, "CERTIFICATE") {
		return fmt.Errorf("--tls-cert %s: %w", certFile, errNoCertificate)
	}
	key, err := readSmall(keyFile)
	if err != nil {
		return fmt.Errorf("--tls-key: %w", err)
	}
	switch {
	case hasBlock(key, "ENCRYPTED PRIVATE KEY") || bytes.Contains(key, []byte("\nDEK-Info:")):
		return fmt.Errorf("--tls-key %s: the key is encrypted, and no one can type its password: store it without", keyFile)
	case !hasBlock(key, "PRIVATE KEY"):
		return fmt.Errorf("--tls-key %s: %w", keyFile, errNoKey)
	}
	pair, err := tls.X509KeyPair(cert, key)
	switch {
	case err == nil:
		p.current.Store(&pair)
		return nil
	case strings.Contains(err.Error(), "does not match"):
		return fmt.Errorf("the key in --tls-key %s does not belong to the certificate in --tls-cert %s, "+
			"which must be the first in its file", keyFile, certFile)
	case strings.Contains(err.Error(), "private key"):
		return fmt.Errorf("--tls-key %s: %w", keyFile, err)
	}
	return fmt.Errorf("--tls-cert %s: %w", certFile, err)
}

var errNoKey = errors.New("the file has no private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----")

// hasBlock reports whether a text has a PEM block whose type ends so.
func hasBlock(text []byte, kind string) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, kind) {
			return true
		}
		text = rest
	}
}

// maxFile is far more than any chain of certificates has.
const maxFile = 1 << 20

func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxFile)
	}
	return text, err
}
