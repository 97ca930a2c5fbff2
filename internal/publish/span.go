package publish

import (
	"math"

	"github.com/assaydata/assay/internal/store"
)

// subtract is a span without the covered ones, which are disjoint and in order.
func subtract(span store.Span, covered []store.Span) (left []store.Span) {
	for _, c := range covered {
		if c.From > span.From {
			left = append(left, store.Span{From: span.From, To: min(c.From, span.To)})
		}
		span.From = max(span.From, c.To)
	}
	return append(left, span)
}

// bounds is the first and the last instant that is due.
func bounds(due store.Coverage) (from, to int64) {
	from = math.MaxInt64
	for key, spans := range due {
		from, to = min(from, spans[0].From), max(to, due.End(key))
	}
	return from, to
}

// clip is what is due inside a span.
func clip(due store.Coverage, within store.Span) store.Coverage {
	clipped := store.Coverage{}
	for key, spans := range due {
		for _, s := range spans {
			s = intersect(s, within)
			if s.From < s.To {
				clipped[key] = append(clipped[key], s)
			}
		}
	}
	return clipped
}

// intersect is the time that both spans share; if From is not before To, there is none.
func intersect(a, b store.Span) store.Span {
	return store.Span{From: max(a.From, b.From), To: min(a.To, b.To)}
}
