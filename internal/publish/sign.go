package publish

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
	"github.com/assaydata/assay/verifier"
)

// Sign signs a manifest for every day that has ended and whose records have changed since its last manifest, and then a
// checkpoint of the log. Without a key it does nothing: the days and the log stay unsigned.
func (p *Publisher) Sign(ctx context.Context) (err error) {
	if p.Key == nil {
		return nil
	}
	ctx, end := tracing.Start(ctx, "sign")
	defer func() { end(err) }()
	if err := p.useCurrentKey(ctx); err != nil {
		return err
	}
	signed, err := p.signDays(ctx)
	if err != nil {
		return err
	}
	return p.signLog(ctx, signed)
}

// useCurrentKey makes sure that the key is the one that the log names. The first key is named now. Another one was
// rotated since the publisher was started, and is read again.
func (p *Publisher) useCurrentKey(ctx context.Context) error {
	keys, err := p.Store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	current := keys.Current()
	if current == nil {
		event := keys.Next(verifier.KeyBegin, p.Key.Public().(ed25519.PublicKey), p.Now())
		text, err := event.Sign(keys.Log(), p.Key)
		if err != nil {
			return err
		}
		if err = p.Store.AddKeyEvents(ctx, keys, text); errors.Is(err, store.ErrOvertaken) {
			return p.useCurrentKey(ctx)
		}
		return err
	}
	if current.Equal(p.Key.Public()) {
		return nil
	}
	if p.ReadKey != nil {
		key, err := p.ReadKey()
		if err != nil {
			return err
		}
		if key != nil && current.Equal(key.Public()) {
			p.Key = key
			p.Log.Info("signing with another key from now on", "id", proof.KeyID(current))
			return nil
		}
	}
	return fmt.Errorf("%w: want the key %s", store.ErrSigner, proof.KeyID(current))
}

func (p *Publisher) signDays(ctx context.Context) (signed bool, err error) {
	for {
		now := p.Now().UnixMilli()
		u, ok, err := p.Store.NextUnsigned(ctx, now)
		if err != nil || !ok {
			return signed, err
		}
		m := assay.Manifest{
			Day: u.Day, Revision: u.Revision, Publication: u.Publication, Receipt: u.Receipt,
			Records: len(u.Hashes), Revisions: u.Revisions, Digest: proof.Records(u.Hashes),
			SignedAt: now, Previous: u.Previous,
		}
		proof.Sign(&m, p.Key)
		err = p.Store.AddManifest(ctx, u, m)
		if err != nil && !errors.Is(err, store.ErrOvertaken) {
			return signed, err
		}
		if err == nil {
			signed = true
			p.made.manifests.add(1)
		}
	}
}

// ErrRewritten is the error when the log no longer begins with what was signed. It is not signed again: two signatures
// would prove that there are two histories.
var ErrRewritten = errors.New(
	"the log no longer begins with what its last checkpoint signed: 'assay verify' says what differs")

// signEvery is how long what is no publication may wait for a checkpoint: the log grows every minute, and every
// checkpoint is kept.
const signEvery = 10 * assay.Minute

// signLog signs a checkpoint if the log has grown since the last one: at once if something was published or a day was
// signed, and some time later otherwise.
func (p *Publisher) signLog(ctx context.Context, signedDay bool) error {
	head, err := p.Store.LogHead(ctx)
	if err != nil {
		return err
	}
	if last := &head.Signed; last.Size > 0 {
		signed, err := proof.OpenCheckpoint(last.Note, head.Origin, last.PublicKey)
		if err != nil {
			return fmt.Errorf("the last checkpoint: %w", err)
		}
		if head.Size < signed.Size || head.SignedRoot != signed.Root {
			return ErrRewritten
		}
		age := p.Now().UnixMilli() - last.SignedAt
		urgent := signedDay || head.PublishedAt >= last.SignedAt || age < 0 || age >= signEvery
		if head.Size == signed.Size || !urgent {
			return nil
		}
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}, p.Key)
	if err != nil {
		return err
	}
	err = p.Store.AddCheckpoint(ctx, proof.SignedCheckpoint{
		Size: head.Size, SignedAt: p.Now().UnixMilli(), PublicKey: p.Key.Public().(ed25519.PublicKey), Note: note,
	})
	if err == nil {
		p.made.checkpoints.add(1)
	}
	return err
}
