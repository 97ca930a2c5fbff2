package console

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/web"
)

// determinationTimeout is how long the database may take to find a slot's records and the proof of one.
const determinationTimeout = 5 * time.Second

// determination serves the record of how one value was determined. Records are many and rarely requested, so they stay
// in the database.
func (c *Console) determination(r *web.Request) (web.Response, error) {
	slot, err := c.API.Slot(r)
	if err != nil {
		return web.Response{}, err
	}
	found, err := findRecord(c, r, &slot, func(ctx context.Context) (records []assay.Determination, err error) {
		if !slot.Exists {
			return nil, nil
		}
		if records, err = c.Determinations(ctx, slot.Line, slot.Grain, slot.At); err != nil {
			err = fmt.Errorf("read the determinations of %s in %s at %s: %w",
				slot.Line.GPU, slot.Line.Region, assay.FormatInstant(slot.At), err)
		}
		return records, err
	}, func(d *assay.Determination) assay.Hash { return d.Hash })
	if err != nil {
		return web.Response{}, err
	}
	b := found.begin(slot.Access, "granularity", found.record.Grain.String())
	b = append(proof.AppendJSON(b, found.record), '}')
	return found.shortUnlessProven(slot.Expires(web.Once(b, found.record.PublishedAt))), nil
}

// valueDetermination serves the record of a value of another family than the GPU index.
func (c *Console) valueDetermination(r *web.Request) (web.Response, error) {
	slot, err := c.API.ValueSlot(r)
	if err != nil {
		return web.Response{}, err
	}
	found, err := findRecord(c, r, &slot, func(ctx context.Context) (records []assay.ValueRecord, err error) {
		if !slot.Exists {
			return nil, nil
		}
		if records, err = c.ValueRecords(ctx, slot.Index, slot.Series, slot.Day); err != nil {
			err = fmt.Errorf("read the records of %s of %s on %s: %w",
				slot.Index, web.Shown(slot.Series), assay.FormatDay(slot.Day), err)
		}
		return records, err
	}, func(v *assay.ValueRecord) assay.Hash { return v.Hash })
	if err != nil {
		return web.Response{}, err
	}
	b := found.begin(slot.Access, "index", found.record.Index)
	b = append(proof.AppendValueJSON(b, found.record), '}')
	return found.shortUnlessProven(slot.Expires(web.Once(b, found.record.KnownAt))), nil
}

// foundRecord is a record, how many revisions its slot has, and the proof that the log includes it, which is null as
// long as no checkpoint does.
type foundRecord[R any] struct {
	record    *R
	revisions int
	inclusion []byte
}

// recordSlot is a request for one of the records of a slot.
type recordSlot[R any] interface {
	Pick(records []R) (record *R, revisions int, err error)
	Known() int64
}

// findRecord reads the records of a slot, picks the requested one, and reads its proof.
func findRecord[R any](
	c *Console, r *web.Request, slot recordSlot[R], read func(context.Context) ([]R, error), hash func(*R) assay.Hash,
) (found foundRecord[R], err error) {
	ctx, done, err := c.beginRecord(r)
	if err != nil {
		return found, err
	}
	defer done()
	records, err := read(ctx)
	if err != nil {
		r.LogCause(err)
		return found, errNoRecord
	}
	if found.record, found.revisions, err = slot.Pick(records); err != nil {
		return found, err
	}
	found.inclusion, err = c.readInclusion(ctx, r, hash(found.record), slot.Known())
	return found, err
}

// beginRecord waits until the request may read a record and its proof from the database, which ends with done.
func (c *Console) beginRecord(r *web.Request) (ctx context.Context, done func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), determinationTimeout)
	if r.Caller() != (assay.Caller{}) {
		return ctx, cancel, nil
	}
	end, err := turn(ctx, c.log.readingProofs) // there is no end to the addresses of callers without a key
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, func() { end(); cancel() }, nil
}

// begin begins a response, up to the record; the field says what the record is of.
func (f *foundRecord[R]) begin(access assay.Access, field, value string) []byte {
	b := assay.AppendString(append(make([]byte, 0, 1024), `{"success":true,"access":`...), string(access))
	b = assay.AppendString(append(append(append(b, `,"`...), field...), `":`...), value)
	b = strconv.AppendInt(append(b, `,"revisions":`...), int64(f.revisions), 10)
	b = append(append(b, `,"inclusion":`...), f.inclusion...)
	return append(b, `,"data":`...)
}

// shortUnlessProven keeps a response without a proof from being cached for long: the record is signed in a moment.
func (f *foundRecord[R]) shortUnlessProven(response web.Response) web.Response {
	if string(f.inclusion) == "null" {
		return response.ShortLived()
	}
	return response
}

var errNoRecord = &assay.Error{
	Kind: assay.Unavailable, Code: "unavailable", Message: "The record cannot be read at the moment. Try again later.",
}

// readInclusion reads the proof that a record is in the log; it is null as long as no checkpoint includes it.
func (c *Console) readInclusion(ctx context.Context, r *web.Request, hash assay.Hash, by int64) ([]byte, error) {
	p, ok, err := c.Log().ProveRecord(ctx, hash, by)
	if err != nil {
		r.LogCause(fmt.Errorf("prove that record %x is in the log: %w", hash, err))
		return nil, errNoRecord
	}
	if !ok {
		return []byte("null"), nil
	}
	return json.Marshal(newInclusion(&p))
}
