package snapshot

import (
	"slices"

	"github.com/assaydata/assay"
)

// RealtimeUpdate is new prints of a line, in the order of time.
type RealtimeUpdate struct {
	assay.Line
	Prints []assay.RealtimePrint
}

// RealtimeKept is how many prints a line keeps: two days of minutes.
const RealtimeKept = 2880

// Realtime gives the line's newest prints, oldest first.
func (l *Line) Realtime() []assay.RealtimePrint { return l.realtime }

// withRealtime is the line with more prints. Those that are there already may come again.
func (l *Line) withRealtime(prints []assay.RealtimePrint) *Line {
	for len(prints) > 0 && len(l.realtime) > 0 && prints[0].At <= l.realtime[len(l.realtime)-1].At {
		prints = prints[1:]
	}
	gone := max(0, len(l.realtime)+len(prints)-RealtimeKept)
	next := *l
	next.realtime = slices.Concat(l.realtime[min(gone, len(l.realtime)):], prints[max(0, gone-len(l.realtime)):])
	return &next
}
