package snapshot

import (
	"slices"

	"github.com/assaydata/assay"
)

// RealtimeUpdate holds new prints of a line, oldest first.
type RealtimeUpdate struct {
	assay.Line
	Prints []assay.RealtimePrint
}

// RealtimeLimit is how many prints a line holds: two days of minutes.
const RealtimeLimit = 2880

// Realtime returns the line's newest prints, oldest first.
func (l *Line) Realtime() []assay.RealtimePrint { return l.realtime }

// withRealtime returns the line with more prints. Prints that it already has are ignored.
func (l *Line) withRealtime(prints []assay.RealtimePrint) *Line {
	for len(prints) > 0 && len(l.realtime) > 0 && prints[0].At <= l.realtime[len(l.realtime)-1].At {
		prints = prints[1:]
	}
	gone := max(0, len(l.realtime)+len(prints)-RealtimeLimit)
	next := *l
	next.realtime = slices.Concat(l.realtime[min(gone, len(l.realtime)):], prints[max(0, gone-len(l.realtime)):])
	return &next
}
