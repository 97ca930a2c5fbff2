// Package pin keeps the key of a log from the first contact on, and follows it.
//
// A stranger who looks at a log for the first time has to believe the key that the server shows, unless someone else
// has told it. From then on, the key is kept: another one is accepted only if an event that the kept key has signed
// leads to it. The events that were followed are kept too, and a server that later shows others is not believed.
package pin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydata/assay/internal/fetch"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/verifier"
)

// Pin is the key of the log of one server.
type Pin struct {
	Key   string // the first one, as /log/vkey serves it
	IsNew bool   // it was not known before

	url    string
	file   string // without its ending
	first  *verifier.Log
	events string // that were followed
}

// Open returns the pin of a server, whose files are in a folder. The first time, it asks the server. Accepted keys are
// those that someone has told the reader; if there are any, no other key is believed at the first contact.
func Open(ctx context.Context, dir, url string, accepted []string) (*Pin, error) {
	sum := sha256.Sum256([]byte(url))
	p := &Pin{url: url, file: filepath.Join(dir, hex.EncodeToString(sum[:8]))}
	kept, err := os.ReadFile(p.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		p.IsNew = true
		p.Key, err = p.fetch(ctx, "/log/vkey")
	} else {
		p.Key = strings.TrimSpace(string(kept))
	}
	if err != nil {
		return nil, err
	}
	more, err := ofLog(p.Key, accepted)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	if p.IsNew && len(more) > 0 {
		p.Key = more[0]
	}
	if p.first, err = verifier.NewLog(p.Key, more...); err != nil {
		return nil, err
	}
	events, err := os.ReadFile(p.eventsFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.events = string(events)
	if p.IsNew {
		return p, files.Replace(p.keyFile(), []byte(p.Key+"\n"))
	}
	return p, nil
}

// ofLog returns those of the accepted keys that are of the same log as a key. There must be one, unless none is
// accepted by name.
func ofLog(key string, accepted []string) (same []string, err error) {
	name, _, _ := strings.Cut(key, "+")
	for _, text := range accepted {
		if strings.HasPrefix(text, name+"+") {
			same = append(same, text)
		}
	}
	if len(accepted) > 0 && len(same) == 0 {
		return nil, fmt.Errorf("its log is named %.200q, and no key that you accept is of that one", name)
	}
	return same, nil
}

func (p *Pin) keyFile() string    { return p.file + ".vkey" }
func (p *Pin) eventsFile() string { return p.file + ".keys" }

// Log returns the log as it is checked with the keys that are known.
func (p *Pin) Log() (*verifier.Log, error) { return p.first.Follow(p.events) }

// Follow asks the server for the events of its key, and keeps them if they continue those that are known and lead to a
// key that is accepted; otherwise the error is a verifier.ErrNotSigned.
func (p *Pin) Follow(ctx context.Context) (*verifier.Log, error) {
	events, err := p.fetch(ctx, "/log/keys")
	if err != nil {
		return nil, err
	}
	events += "\n"
	if !strings.HasPrefix(events, p.events) {
		return nil, fmt.Errorf("%w: %s/log/keys does not have the events that it had before", verifier.ErrNotSigned, p.url)
	}
	log, err := p.first.Follow(events)
	if err != nil {
		return nil, fmt.Errorf("%s/log/keys: %w", p.url, err)
	}
	if events != p.events {
		if err := files.Replace(p.eventsFile(), []byte(events)); err != nil {
			return nil, err
		}
		p.events = events
	}
	return log, nil
}

// limits allow some thousand events.
var limits = fetch.Limits{Patience: 10 * time.Second, Most: 1 << 20}

func (p *Pin) fetch(ctx context.Context, path string) (string, error) {
	text, status, err := limits.Get(ctx, p.url+path, "")
	if err == nil && status != http.StatusOK {
		err = fetch.Unexpected(p.url+path, status, text)
	}
	return strings.TrimSpace(string(text)), err
}
