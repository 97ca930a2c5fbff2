package httpapi

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/snapshot"
)

// determinationTimeout is how long the database may take to find a slot's records.
const determinationTimeout = 5 * time.Second

// newestRevision asks for whichever revision is the newest known.
const newestRevision = -1

// determination answers the record of how one value came to be. Records are many and asked rarely, so this is the one
// route that reads the database.
func determination(c *call) (answer, error) {
	gpu, err := c.gpu(c.pathGPU())
	if err != nil {
		return answer{}, err
	}
	ask, err := c.slotAsk()
	if err != nil {
		return answer{}, err
	}
	grant, line, err := c.grantedLine(gpu, access.Ask{HourlyOnly: ask.hourly})
	if err != nil {
		return answer{}, err
	}
	known, err := c.determinations(line, ask)
	if err != nil {
		return answer{}, err
	}
	for i := range known {
		if d := &known[i]; d.Revision == ask.revision || ask.revision == newestRevision && i == len(known)-1 {
			return determinationAnswer(grant, len(known), d), nil
		}
	}
	return answer{}, ask.missing(line)
}

// slotAsk names a slot by its settlement day or, an hourly one, by its instant.
type slotAsk struct {
	at       int64 // midnight UTC of the day, or the instant
	hourly   bool
	revision int
}

func (c *call) slotAsk() (ask slotAsk, err error) {
	date, _, hasDate, err := c.instant("date")
	if err != nil {
		return ask, err
	}
	timestamp, _, hasTimestamp, err := c.instant("timestamp")
	if err != nil {
		return ask, err
	}
	if hasDate == hasTimestamp {
		return ask, &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter",
			Message: "Exactly one of the parameters date (a settlement day) and timestamp (the end of an hour) is required.",
		}
	}
	ask = slotAsk{at: assay.StartOfDay(date)}
	if hasTimestamp {
		ask = slotAsk{at: timestamp, hourly: true}
	}
	ask.revision, err = c.whole("revision", newestRevision, 0, math.MaxInt32)
	return ask, err
}

// slot finds the instant of the slot asked for; ok is false when no slot ends there.
func (c *call) slot(line *snapshot.Line, ask slotAsk) (at int64, ok bool) {
	m := *c.s.schedule.Load()
	if ask.hourly {
		return ask.at, m.NextSlot(assay.Hourly, ask.at-1) == ask.at
	}
	days := line.Series(assay.Daily)
	if i, j := days.Range(ask.at, ask.at+assay.Day-1); i < j {
		return days.At(i).At, true
	}
	at = m.NextSlot(assay.Daily, ask.at-1) // its value may have been taken back
	return at, at < ask.at+assay.Day
}

// determinations reads the slot's records that were known at the moment asked for, oldest first.
func (c *call) determinations(line *snapshot.Line, ask slotAsk) (known []assay.Determination, err error) {
	at, ok := c.slot(line, ask)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), determinationTimeout)
	defer cancel()
	all, err := c.s.Determinations(ctx, line.Line, ask.grain(), at)
	if err != nil {
		c.cause = fmt.Errorf("read the determinations of %s in %s at %s: %w", line.GPU, line.Region, assay.FormatInstant(at), err)
		return nil, &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: "The record cannot be read at the moment. Try again later."}
	}
	for _, d := range all {
		if !c.asOf || d.PublishedAt <= c.moment {
			known = append(known, d)
		}
	}
	return known, nil
}

func (ask *slotAsk) grain() assay.Grain {
	if ask.hourly {
		return assay.Hourly
	}
	return assay.Daily
}

func (ask *slotAsk) missing(line *snapshot.Line) error {
	what := "No determination record found for " + line.GPU + " in the region " + line.Region + " on " + assay.FormatDay(ask.at)
	if ask.hourly {
		what = "No determination record found for " + line.GPU + " in the region " + line.Region + " at " + assay.FormatInstant(ask.at)
	}
	if ask.revision != newestRevision {
		what += " with the revision " + strconv.Itoa(ask.revision)
	}
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: what}
}

func determinationAnswer(grant access.Grant, revisions int, d *assay.Determination) answer {
	b := assay.AppendString(append(make([]byte, 0, 1024), `{"success":true,"access":`...), string(grant.Access))
	b = assay.AppendString(append(b, `,"granularity":`...), d.Grain.String())
	b = strconv.AppendInt(append(b, `,"revisions":`...), int64(revisions), 10)
	b = proof.AppendJSON(append(b, `,"data":`...), d)
	return ready(newBody(append(b, '}'), d.PublishedAt))
}

func appendInstantField(dst []byte, name string, at int64) []byte {
	return append(assay.AppendInstant(append(append(dst, name...), '"'), at), '"')
}

func appendIntField(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

func appendPriceField(dst []byte, name string, price assay.Nanos, has bool) []byte {
	if dst = append(dst, name...); has {
		return price.AppendJSON(dst)
	}
	return append(dst, "null"...)
}
