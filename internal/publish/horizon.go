package publish

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// DefaultHorizon is how far past the newest transaction slots are published, unless the operator sets another horizon.
const DefaultHorizon = 2 * time.Hour

// noLimit is the limit of a publisher that may publish everything that is due.
const noLimit = int64(math.MaxInt64)

const nothingYet = "No transaction has been received yet."

// Limit returns the instant up to which slots may be published: the horizon past the newest transaction. After that,
// either nothing is received or the clock is wrong: a slot would be empty for good, and what arrives for it late.
// Reason says so.
func (p *Publisher) Limit(ctx context.Context) (limit int64, reason string, err error) {
	if p.Horizon == 0 {
		return noLimit, "", nil
	}
	reach, err := p.Store.Reach(ctx)
	if err != nil {
		return 0, "", err
	}
	if reach == 0 {
		return 0, nothingYet, nil
	}
	reason = fmt.Sprintf("No transaction has been received since %s. Publishing continues with the next one, or after "+
		"'assay publish --confirm'.", assay.FormatInstant(reach))
	return reach + p.Horizon.Milliseconds(), reason, nil
}

// within chooses what another chooser does, up to a limit.
func within(limit int64, choose spanChooser) spanChooser {
	return func(s *step, key store.CoverageKey, now int64) []store.Span {
		spans := choose(s, key, now)
		for i := range spans {
			if span := &spans[i]; limit < span.To {
				span.To = s.schedule.LastSlot(key.Grain, limit)
			}
		}
		return spans
	}
}

// HistoryLimit is Limit for an operator who publishes imported history: the day of the newest transaction is complete.
func (p *Publisher) HistoryLimit(ctx context.Context) (int64, error) {
	limit, _, err := p.Limit(ctx)
	if err != nil {
		return 0, err
	}
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return 0, err
	}
	return max(limit, schedule.NextSlot(assay.Daily, limit-p.Horizon.Milliseconds()-1)), nil
}
