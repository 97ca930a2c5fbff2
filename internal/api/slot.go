package api

import (
	"math"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// Slot is a request for the record of one published value. internal/console reads the record, because it is in the
// database.
type Slot struct {
	Line   assay.Line
	Grain  assay.Grain
	At     int64
	Exists bool // false when no slot ends at the requested instant
	Access assay.Access

	query    query
	ask      slotAsk
	revision int
}

// newestRevision requests the newest revision that is known.
const newestRevision = -1

// slotAsk names a slot by its settlement day or, an hourly one, by its instant.
type slotAsk struct {
	at     int64 // midnight UTC of the day, or the instant
	hourly bool
}

// Slot reads the parameters of a request for a record, and checks that the caller may see it.
func (a *API) Slot(r *web.Request) (s Slot, err error) {
	q := a.query(r)
	gpu, err := q.gpu(gpuName, q.pathGPU())
	if err != nil {
		return s, err
	}
	ask, err := q.slotAsk()
	if err != nil {
		return s, err
	}
	revision, err := q.Int("revision", newestRevision, 0, math.MaxInt32)
	if err != nil {
		return s, err
	}
	grant, line, err := q.grantedLine(gpu, access.Ask{HourlyOnly: ask.hourly, HasStart: true, Start: ask.at})
	if err != nil {
		return s, err
	}
	s = Slot{Line: line.Line, Access: grant.Access, query: q, ask: ask, revision: revision}
	if ask.hourly {
		s.Grain = assay.Hourly
	}
	s.At, s.Exists = q.slotAt(line, ask)
	return s, nil
}

func (q *query) slotAsk() (ask slotAsk, err error) {
	date, err := q.Instant("date")
	if err != nil {
		return ask, err
	}
	timestamp, err := q.Instant("timestamp")
	if err != nil {
		return ask, err
	}
	if date.Given == timestamp.Given {
		return ask, &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter",
			Message: `Exactly one of "date" (a settlement day) and "timestamp" (the end of an hour) is required.`,
		}
	}
	if timestamp.Given {
		return slotAsk{at: timestamp.At, hourly: true}, nil
	}
	return slotAsk{at: assay.StartOfDay(date.At)}, nil
}

// slotAt finds the instant of the requested slot; ok is false when no slot ends there.
func (q *query) slotAt(line *snapshot.Line, ask slotAsk) (at int64, ok bool) {
	schedule := q.schedule()
	if ask.hourly {
		return ask.at, schedule.NextSlot(assay.Hourly, ask.at-1) == ask.at
	}
	days := line.Series(assay.Daily)
	if i, j := days.Range(ask.at, ask.at+assay.Day-1); i < j {
		return days.At(i).At, true
	}
	at = schedule.NextSlot(assay.Daily, ask.at-1) // its value may have been withdrawn
	return at, at < ask.at+assay.Day
}

// Pick returns the requested one of a slot's records, which come oldest first, and how many revisions were known at the
// requested moment.
func (s *Slot) Pick(records []assay.Determination) (record *assay.Determination, revisions int, err error) {
	record, revisions = pickRevision(&s.query, s.revision, records, func(d *assay.Determination) (int, int64) {
		return d.Revision, d.PublishedAt
	})
	if record == nil {
		return nil, 0, s.missing()
	}
	return record, revisions, nil
}

// pickRevision returns the requested one of the records of a slot, nil if there is none, and how many were known at the
// requested moment. The revision of a record and the instant from which on it was known come from of.
func pickRevision[T any](
	q *query, revision int, records []T, of func(*T) (revision int, known int64),
) (record *T, revisions int) {
	for i := range records {
		number, known := of(&records[i])
		if q.asOf && known > q.moment {
			continue
		}
		revisions++
		if revision == newestRevision || number == revision {
			record = &records[i]
		}
	}
	return record, revisions
}

// Known is the instant up to which the request asks for what was known.
func (s *Slot) Known() int64 { return s.query.known() }

// Expires lets caches keep a response until the next publication is due.
func (s *Slot) Expires(r web.Response) web.Response { return s.query.expires(r) }

func (s *Slot) missing() error {
	slot := s.Line.GPU + " in the region " + s.Line.Region
	if s.ask.hourly {
		slot += " at " + assay.FormatInstant(s.ask.at)
	} else {
		slot += " on " + assay.FormatDay(s.ask.at)
	}
	return noRecord(slot, s.revision)
}

func noRecord(slot string, revision int) error {
	message := "No determination record found for " + slot
	if revision != newestRevision {
		message += " with the revision " + strconv.Itoa(revision)
	}
	return noData(message)
}
