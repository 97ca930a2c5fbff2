package console

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
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
	ctx, done, err := c.beginRecord(r)
	if err != nil {
		return web.Response{}, err
	}
	defer done()
	var records []assay.Determination
	if slot.Exists {
		if records, err = c.readDeterminations(ctx, r, &slot); err != nil {
			return web.Response{}, err
		}
	}
	record, revisions, err := slot.Pick(records)
	if err != nil {
		return web.Response{}, err
	}
	inclusion, err := c.readInclusion(ctx, r, record.Hash, slot.Known())
	if err != nil {
		return web.Response{}, err
	}
	b := assay.AppendString(beginRecordBody(slot.Access, "granularity"), record.Grain.String())
	b = proof.AppendJSON(appendProof(b, revisions, inclusion), record)
	return shortUnlessProven(slot.Expires(web.Once(append(b, '}'), record.PublishedAt)), inclusion), nil
}

// valueDetermination serves the record of a value of another family than the GPU index.
func (c *Console) valueDetermination(r *web.Request) (web.Response, error) {
	slot, err := c.API.ValueSlot(r)
	if err != nil {
		return web.Response{}, err
	}
	ctx, done, err := c.beginRecord(r)
	if err != nil {
		return web.Response{}, err
	}
	defer done()
	var records []assay.ValueRecord
	if slot.Exists {
		if records, err = c.readValueRecords(ctx, r, &slot); err != nil {
			return web.Response{}, err
		}
	}
	record, revisions, err := slot.Pick(records)
	if err != nil {
		return web.Response{}, err
	}
	inclusion, err := c.readInclusion(ctx, r, record.Hash, slot.Known())
	if err != nil {
		return web.Response{}, err
	}
	b := assay.AppendString(beginRecordBody(slot.Access, "index"), record.Index)
	b = proof.AppendValueJSON(appendProof(b, revisions, inclusion), record)
	return shortUnlessProven(slot.Expires(web.Once(append(b, '}'), record.KnownAt)), inclusion), nil
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

// beginRecordBody begins a response with a record, up to the value of a field that says what the record is of.
func beginRecordBody(access assay.Access, field string) []byte {
	b := assay.AppendString(append(make([]byte, 0, 1024), `{"success":true,"access":`...), string(access))
	return append(append(append(b, `,"`...), field...), `":`...)
}

// appendProof appends what a response has before its record.
func appendProof(b []byte, revisions int, inclusion []byte) []byte {
	b = strconv.AppendInt(append(b, `,"revisions":`...), int64(revisions), 10)
	b = append(append(b, `,"inclusion":`...), inclusion...)
	return append(b, `,"data":`...)
}

// shortUnlessProven keeps a response without a proof from being cached for long: the record is signed in a moment.
func shortUnlessProven(response web.Response, inclusion []byte) web.Response {
	if string(inclusion) == "null" {
		return response.ShortLived()
	}
	return response
}

// readDeterminations reads the records of a slot, oldest first.
func (c *Console) readDeterminations(
	ctx context.Context, r *web.Request, slot *api.Slot,
) ([]assay.Determination, error) {
	records, err := c.Determinations(ctx, slot.Line, slot.Grain, slot.At)
	if err != nil {
		r.LogCause(fmt.Errorf("read the determinations of %s in %s at %s: %w",
			slot.Line.GPU, slot.Line.Region, assay.FormatInstant(slot.At), err))
		return nil, errNoRecord
	}
	return records, nil
}

// readValueRecords reads the records of a value, oldest first.
func (c *Console) readValueRecords(
	ctx context.Context, r *web.Request, slot *api.ValueSlot,
) ([]assay.ValueRecord, error) {
	records, err := c.ValueRecords(ctx, slot.Index, slot.Series, slot.Day)
	if err != nil {
		r.LogCause(fmt.Errorf("read the records of %s of %s on %s: %w",
			slot.Index, web.Shown(slot.Series), assay.FormatDay(slot.Day), err))
		return nil, errNoRecord
	}
	return records, nil
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
