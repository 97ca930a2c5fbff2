package publish

import (
	"cmp"
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// sourceGuard notices that an expected source is silent.
type sourceGuard struct {
	p     *Publisher
	first int64 // where hours begin if none is published
}

// limit returns the start of the first hour after the published ones that was due without a transaction of an expected
// source, and why it is held. A source that declares itself complete, or an operator, may say that there was none.
func (g *sourceGuard) limit(ctx context.Context, covered, due int64) (limit int64, reason string, err error) {
	p := g.p
	g.first = cmp.Or(g.first, due)
	expected, err := p.Store.ExpectedSources(ctx)
	if err != nil || len(expected) == 0 {
		return noLimit, "", err
	}
	for hour := cmp.Or(covered, g.first); hour < due; hour += assay.Hour {
		source, err := p.lacking(ctx, expected, hour)
		if err != nil {
			return 0, "", err
		}
		if source == "" {
			continue
		}
		word, err := p.Store.LastWord(ctx, p.Now().UnixMilli())
		if err != nil {
			return 0, "", err
		}
		if end := hour + assay.Hour; word < end {
			return hour, fmt.Sprintf("No transaction of %s has been received for the hour to %s. Publishing continues "+
				"with one, when the source is complete, or after 'assay publish'.", source, assay.FormatInstant(end)), nil
		}
	}
	return noLimit, "", nil
}

// lacking names an expected source that has no transaction in an hour, and has not said that there is none.
func (p *Publisher) lacking(ctx context.Context, expected []store.ExpectedSource, hour int64) (string, error) {
	batch, err := p.Store.AppendWindow(ctx, nil, hour, hour+assay.Hour)
	if err != nil {
		return "", err
	}
	found := map[string]bool{}
	for i := range batch {
		found[batch[i].Source] = true
	}
	for _, s := range expected {
		if s.CompleteUntil < hour+assay.Hour && !found[s.Source] {
			return s.Source, nil
		}
	}
	return "", nil
}
