package publish

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// Sign signs a manifest for every day that has ended and whose records have changed since its last manifest. Without
// a key it does nothing, and the days stay unsigned.
func (p *Publisher) Sign(ctx context.Context) error {
	if p.Key == nil {
		return nil
	}
	for {
		now := p.Now().UnixMilli()
		u, ok, err := p.Store.NextUnsigned(ctx, now)
		if err != nil || !ok {
			return err
		}
		m := assay.Manifest{
			Day: u.Day, Revision: u.Revision, Records: len(u.Hashes), Digest: proof.Records(u.Hashes),
			SignedAt: now, Previous: u.Previous,
		}
		proof.Sign(&m, p.Key)
		err = p.Store.AddManifest(ctx, u, m)
		if err != nil && !errors.Is(err, store.ErrOvertaken) {
			return err
		}
	}
}
