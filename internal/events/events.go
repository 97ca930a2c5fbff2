// Package events derives the events of the stream from snapshots.
//
// There is no log of events. A snapshot has everything that was published with the version that made it, and everything
// else with its number or the instant of its receipt. So every node makes the same events in the same order from its
// own snapshot, also after a restart, and also those that another node has sent. An id is a cursor: how far a reader is
// in each of the
// sequences (cursor.go). A reader who comes back gets what is after the cursor, from any node.
//
// Within a publication events are in the order of GPU model, region, grain and slot, by name; an hourly value that is
// the current price is followed by that event. Prints of a minute are in the order of GPU model and region, and
// observations of a receipt in the order of their series.
package events

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
)

// Event is an event with everything that decides who gets it.
type Event struct {
	Kind        assay.EventKind
	Family      string // gpu, or the name of another one
	GPU, Region string // empty if it is about none
	All         bool   // whether it is about all GPU models, or all regions, if it names none
	Data        []byte // JSON
	After       Cursor // of a reader who has the event

	sequence int
	mark     Mark
	sees     [assay.Full + 1]bool
}

// FamilyGPU is the name of the GPU index among the families.
const FamilyGPU = "gpu"

// Seen reports whether callers of a tier get the event.
func (e *Event) Seen(tier assay.Tier) bool { return e.sees[tier] }

// Passed reports whether a reader has the event already.
func (e *Event) Passed(c Cursor) bool { return c.marks[e.sequence].compare(e.mark) >= 0 }

const (
	// Most is how many events are made at once. After so many a reader had better read the data again.
	Most = 20_000
	// longest is how long ago the newest publication may be of which a reader has an event.
	longest = 3 * assay.Day
	// printsKept is how far back the snapshot certainly has all prints: somewhat less than live keeps.
	printsKept = 47 * assay.Hour
)

// The reasons why a reader cannot continue from a cursor.
var (
	ErrTooMany  = errors.New("too_many")
	ErrTooOld   = errors.New("too_old")
	ErrCatalog  = errors.New("catalog_changed")
	ErrHistory  = errors.New("history_changed")
	ErrNoCursor = errors.New("unknown_id")
)

// Check says why a reader of events of some kinds cannot continue from a cursor; nil if the reader can. A cursor may be
// past the snapshot: another node has read more.
func Check(snap *snapshot.Snapshot, c Cursor, wants func(assay.EventKind) bool) error {
	newest := At(snap)
	if c.catalog != newest.catalog && !c.complete() {
		return ErrCatalog
	}
	if p, ok := snap.Publication(); ok {
		history, known := snap.HistoryAt(c.Version())
		if known && uint32(history) != c.history || !known && c.Version() > 0 && c.Version() < p.Version {
			return ErrHistory
		}
		for next := range snap.PublicationsAfter(c.Version()) {
			if next.PublishedAt < p.PublishedAt-longest {
				return ErrTooOld
			}
			break
		}
	}
	if tooOld(c.marks[printSeq].At, newest.marks[printSeq].At, printsKept) && wants(assay.PrintEvent) ||
		tooOld(c.marks[utilizationSeq].At, newest.marks[utilizationSeq].At, keptUtilization) &&
			wants(assay.ObservationEvent) {
		return ErrTooOld
	}
	return nil
}

// tooOld reports whether what follows a mark may not be kept any more. A mark of 0 is of a time when there was nothing.
func tooOld(at, newest, kept int64) bool { return at != 0 && at < newest-kept }

// Every is for readers of all kinds of events.
func Every(assay.EventKind) bool { return true }

// After lists the events after a cursor up to a snapshot, as of now, which decides about the free window.
func After(snap *snapshot.Snapshot, from Cursor, now int64) ([]Event, error) {
	m := maker{snap: snap, at: from, now: now}
	m.at.catalog = snap.CatalogVersion
	if err := m.published(); err != nil {
		return nil, err
	}
	m.printed()
	for family := range assay.NumFamilies {
		m.observed(family)
	}
	m.utilized()
	m.restated()
	m.noticed()
	if len(m.events) > Most {
		return nil, ErrTooMany
	}
	return m.events, nil
}

// maker makes events.
type maker struct {
	snap   *snapshot.Snapshot
	at     Cursor // after the last event
	now    int64
	events []Event
}

// add adds an event. index is its place among those of the same publication, minute or receipt, of which it may be the
// last. An event that the reader has is left out.
func (m *maker) add(e Event, about access.Event, sequence int, mark Mark, last bool) {
	if m.at.marks[sequence].compare(mark) >= 0 {
		return
	}
	m.at.marks[sequence] = mark
	if last {
		m.at.marks[sequence].Index = whole
	}
	if sequence == publicationSeq {
		m.at.history = historyAt(m.snap, mark.At)
	}
	e.Kind, e.After, e.sequence, e.mark = about.Kind, m.at, sequence, mark
	for tier := range e.sees {
		e.sees[tier] = access.Sees(assay.Tier(tier), about, m.now)
	}
	m.events = append(m.events, e)
}

// numbered is the index of an event; those that may be absent on another node have numbers of their own.
func numbered(i int) int32 { return int32(2 * i) }

// published makes the events of publications.
func (m *maker) published() error {
	from := m.at.marks[publicationSeq]
	first := from.At
	if from.complete() {
		first++
	}
	var list []snapshot.LineRevision
	for r := range m.snap.RevisionsAfter(first - 1) {
		if list = append(list, r); len(list) > Most {
			return ErrTooMany
		}
	}
	slices.SortFunc(list, func(a, b snapshot.LineRevision) int { return a.Position().Compare(b.Position()) })
	corrections := m.snap.CorrectionsAfter(snapshot.Position{Version: first, At: math.MinInt64})
	for len(list) > 0 {
		version := list[0].Revision.Version
		n := 0
		for n < len(list) && list[n].Revision.Version == version {
			n++
		}
		for len(corrections) > 0 && corrections[0].Revision.Version < version {
			corrections = corrections[1:]
		}
		corrections = m.publication(version, list[:n], corrections)
		list = list[n:]
	}
	return nil
}

// publication makes the events of a publication from its revisions. corrections are those from this publication on, and
// it returns the rest of them.
func (m *maker) publication(
	version int64, revisions []snapshot.LineRevision, corrections []snapshot.Correction,
) []snapshot.Correction {
	p := m.snap.PublicationOf(version)
	for i := range revisions {
		r := &revisions[i]
		last, mark := i == len(revisions)-1, Mark{version, numbered(i)}
		price, isPrice := m.price(r)
		e := Event{Family: FamilyGPU, GPU: r.GPU, Region: r.Region}
		about := access.Event{GPU: true, Paid: m.paidGPU(r.GPU), At: r.Revision.At}
		switch {
		case len(corrections) > 0 && corrections[0].Position() == r.Position():
			about.Kind, about.Hourly = assay.CorrectionEvent, r.Grain == assay.Hourly
			e.Data = correctionData(&corrections[0])
			corrections = corrections[1:]
		case r.Grain == assay.Hourly:
			about.Kind = assay.HourEvent
			e.Data = valueData(r.Line, r.Grain, r.Revision.Point, p)
		default:
			about.Kind, about.At = assay.DayEvent, assay.StartOfDay(r.Revision.At)
			e.Data = valueData(r.Line, r.Grain, r.Revision.Point, p)
		}
		m.add(e, about, publicationSeq, mark, last && !isPrice)
		if isPrice {
			e.Data = valueData(r.Line, r.Grain, price, p)
			mark.Index++
			about = access.Event{Kind: assay.PriceEvent, GPU: true, Paid: about.Paid}
			m.add(e, about, publicationSeq, mark, last)
		}
	}
	return corrections
}

// price returns the current price of a line if a revision made it the current one. An earlier one is no event: only the
// routes of hourly values show past prices.
func (m *maker) price(r *snapshot.LineRevision) (assay.Point, bool) {
	line := m.snap.Line(r.GPU, r.Region)
	if r.Grain != assay.Hourly || line == nil {
		return assay.Point{}, false
	}
	series := line.Series(assay.Hourly)
	if series.Len() == 0 {
		return assay.Point{}, false
	}
	newest := series.At(series.Len() - 1)
	if r.Revision.Gone {
		return newest, r.Revision.At > newest.At
	}
	return newest, r.Revision.At == newest.At && r.Revision.Version == series.VersionOf(series.Len()-1)
}

// paidGPU is the name of a GPU that is not free, else empty.
func (m *maker) paidGPU(name string) string {
	if gpu, ok := m.snap.GPU(name); ok && gpu.Free {
		return ""
	}
	return name
}

// printed makes the events of real-time prints.
func (m *maker) printed() {
	from := m.at.marks[printSeq]
	first := from.At
	if from.complete() {
		first++
	}
	list := slices.Collect(m.snap.PrintsAfter(first - 1))
	slices.SortFunc(list, func(a, b snapshot.LinePrint) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region))
	})
	index := 0
	for i := range list {
		p := &list[i]
		if i > 0 && list[i-1].At != p.At {
			index = 0
		}
		last := i == len(list)-1 || list[i+1].At != p.At
		m.add(
			Event{Family: FamilyGPU, GPU: p.GPU, Region: p.Region, Data: printData(p)},
			access.Event{Kind: assay.PrintEvent, GPU: true, Paid: m.paidGPU(p.GPU), At: p.At},
			printSeq, Mark{p.At, numbered(index)}, last)
		index++
	}
}

// restated makes the events of restatements of families. Those of the GPU index are publications.
func (m *maker) restated() {
	from := m.at.marks[restatementSeq].At
	for i := range m.snap.Restatements {
		if r := &m.snap.Restatements[i]; r.Number > from {
			m.add(
				Event{Family: r.Family.String(), Data: restatementData(r)},
				access.Event{Kind: assay.CorrectionEvent, Family: r.Family},
				restatementSeq, Mark{At: r.Number}, true)
		}
	}
}

// noticed makes the events of notices.
func (m *maker) noticed() {
	from := m.at.marks[noticeSeq].At
	for i := range m.snap.Notices {
		n := &m.snap.Notices[i]
		if _, shown := m.snap.GPU(n.GPU); n.Number <= from || n.GPU != "" && !shown {
			continue
		}
		m.add(
			Event{Family: FamilyGPU, GPU: n.GPU, Region: n.Region, All: true, Data: noticeData(n)},
			access.Event{Kind: assay.NoticeEvent, GPU: true},
			noticeSeq, Mark{At: n.Number}, true)
	}
}
