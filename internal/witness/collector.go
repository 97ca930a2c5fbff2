package witness

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/fetch"
	"github.com/assaydata/assay/verifier"
)

// Log is the log that a collector gets signatures for.
type Log interface {
	// Unwitnessed returns the last checkpoint as the log has signed it, and the names of the witnesses that have signed
	// it too. The size is 0 if there is none.
	Unwitnessed(ctx context.Context) (size int64, signed string, witnesses []string, err error)
	ProveConsistency(ctx context.Context, from, to int64) (hashes []assay.Hash, signed int64, err error)
	AddCosignature(ctx context.Context, size int64, witness, line string) error
}

// Peer is a witness that a collector asks.
type Peer struct {
	Witness *verifier.Witness
	URL     string // without a slash at its end
}

// ParsePeer reads a witness from KEY=URL. The key has no equals sign.
func ParsePeer(text string) (p Peer, err error) {
	key, url, _ := strings.Cut(text, "=")
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return p, fmt.Errorf("%.120q: must be KEY=URL, with the key that 'assay witness' prints and its http:// or https://",
			text)
	}
	if p.Witness, err = verifier.NewWitness(key); err != nil {
		return p, err
	}
	p.URL = strings.TrimRight(url, "/")
	return p, nil
}

// Collector asks witnesses for their signatures of each new checkpoint.
type Collector struct {
	Store Log
	Peers []Peer
	Log   *slog.Logger
}

const (
	lookEvery  = 2 * time.Second  // for a new checkpoint
	retryAfter = 30 * time.Second // a witness that failed
)

// Run asks until the context ends. Each witness has its own loop, so that one that is down holds up no other.
func (c *Collector) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	for _, peer := range c.Peers {
		loops.Go(func() { c.follow(ctx, peer) })
	}
	loops.Wait()
	return nil
}

func (c *Collector) follow(ctx context.Context, peer Peer) {
	asked := asker{Collector: c, peer: peer}
	failing := ""
	for {
		wait := lookEvery
		err := asked.last(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait = retryAfter
		}
		switch text := fmt.Sprint(err); {
		case err != nil && text != failing:
			c.Log.Warn("a witness did not sign the checkpoint", "witness", peer.Witness.Name(), "error", err)
			failing = text
		case err == nil && failing != "":
			c.Log.Info("a witness signs again", "witness", peer.Witness.Name())
			failing = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// asker asks one witness, and remembers what it has seen.
type asker struct {
	*Collector
	peer Peer
	seen int64
}

// last gets the signature of the last checkpoint, unless there is one.
func (a *asker) last(ctx context.Context) error {
	size, signed, witnesses, err := a.Store.Unwitnessed(ctx)
	if err != nil || size == 0 || slices.Contains(witnesses, a.peer.Witness.Name()) {
		return err
	}
	line, err := a.ask(ctx, size, signed)
	if stale, ok := errors.AsType[*Refusal](err); ok && stale.Seen <= size && stale.Seen != a.seen {
		a.seen = stale.Seen
		line, err = a.ask(ctx, size, signed)
	}
	if err != nil {
		return err
	}
	a.seen = size
	return a.Store.AddCosignature(ctx, size, a.peer.Witness.Name(), line)
}

// ask sends a checkpoint.
func (a *asker) ask(ctx context.Context, size int64, signed string) (line string, err error) {
	var body strings.Builder
	fmt.Fprintf(&body, "old %d\n", min(a.seen, size))
	if a.seen > 0 && a.seen < size {
		hashes, _, err := a.Store.ProveConsistency(ctx, a.seen, size)
		if err != nil {
			return "", err
		}
		for _, hash := range hashes {
			fmt.Fprintln(&body, base64.StdEncoding.EncodeToString(hash[:]))
		}
	}
	body.WriteString("\n" + signed)
	url := a.peer.URL + "/add-checkpoint"
	text, status, err := fetch.Small.Post(ctx, url, "text/plain", strings.NewReader(body.String()))
	switch {
	case err != nil:
		return "", err
	case status == http.StatusConflict:
		seen, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || seen < 0 {
			return "", fmt.Errorf("the witness responds %d without a number of entries", status)
		}
		what := "another number of entries"
		switch {
		case seen == size:
			what = "another history"
		case seen > size:
			what = "a longer history"
		}
		refusal := refuse(Stale, "the witness has signed %s: it has seen %d entries, and the checkpoint has %d",
			what, seen, size)
		refusal.Seen = seen
		return "", refusal
	case status != http.StatusOK:
		return "", fetch.Unexpected(url, status, text)
	}
	return a.check(signed, string(text))
}

// check finds the signature of the witness in its response, and checks it.
func (a *asker) check(signed, lines string) (line string, err error) {
	opened, err := note.Open([]byte(signed+lines), note.VerifierList(a.peer.Witness))
	if err != nil {
		return "", fmt.Errorf("the signature of the witness: %w", err)
	}
	s := opened.Sigs[0] // there is one, and it is of the only key
	return "— " + s.Name + " " + s.Base64 + "\n", nil
}
