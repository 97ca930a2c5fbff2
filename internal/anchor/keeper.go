package anchor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// Log is the log whose checkpoints get tokens.
type Log interface {
	// Unanchored returns the newest checkpoint that was signed at an instant or later, unless one of those has an anchor.
	// Its Size is 0 if there is none.
	Unanchored(ctx context.Context, since int64) (proof.SignedCheckpoint, error)
	AddAnchor(ctx context.Context, a proof.Anchor) error
}

// CheckURL checks the URL of an authority.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be the http:// or https:// address of an authority for timestamps")
	case u.User != nil:
		return errors.New("must not contain a password: the address is shown to everyone")
	}
	return nil
}

// Keeper gets a token for a checkpoint of each UTC day: for the newest one, once there is one of that day. Nothing
// waits for it, and if the authority does not respond, nothing else changes.
type Keeper struct {
	Store Log
	URL   string // of the authority
	Now   func() time.Time
	Log   *slog.Logger

	// request is Request, except in a test with its own clock, which cannot wait for a network.
	request func(ctx context.Context, url, text string, now time.Time) (Token, error)
}

const (
	lookEvery  = 10 * time.Second // for the first checkpoint of a day
	retryAfter = time.Minute      // an authority that failed
)

// Run asks until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		wait := lookEvery
		size, err := k.today(ctx)
		switch {
		case ctx.Err() != nil: // it failed because of that
		case err != nil && !failing:
			k.Log.Warn("the checkpoint of the day got no timestamp", "authority", k.URL, "error", err,
				"again_in", retryAfter.String())
		case err == nil && size > 0:
			k.Log.Info("a checkpoint got its timestamp", "authority", k.URL, "size", size)
		}
		if failing = err != nil; failing {
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// today gets the token of the day, unless there is one, or no checkpoint yet. It returns the size of the checkpoint.
func (k *Keeper) today(ctx context.Context) (size int64, err error) {
	now := k.Now()
	last, err := k.Store.Unanchored(ctx, assay.StartOfDay(now.UnixMilli()))
	if err != nil || last.Size == 0 {
		return 0, err
	}
	if last.SignedAt > now.Add(MaxSkew).UnixMilli() { // its timestamp would be older than it
		return 0, fmt.Errorf("the last checkpoint is of %s, which is in the future", assay.FormatInstant(last.SignedAt))
	}
	request := k.request
	if request == nil {
		request = Request
	}
	token, err := request(ctx, k.URL, last.Text(), now)
	if err != nil {
		return 0, err
	}
	return last.Size, k.Store.AddAnchor(ctx, proof.Anchor{
		Size: last.Size, StampedAt: token.Time, Authority: k.URL, Token: token.DER,
	})
}
