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
	ctx, cancel := context.WithTimeout(r.Context(), determinationTimeout)
	defer cancel()
	if r.Caller() == (assay.Caller{}) { // there is no end to their addresses
		done, err := turn(ctx, c.log.readingProofs)
		if err != nil {
			return web.Response{}, err
		}
		defer done()
	}
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
	b := assay.AppendString(append(make([]byte, 0, 1024), `{"success":true,"access":`...), string(slot.Access))
	b = assay.AppendString(append(b, `,"granularity":`...), record.Grain.String())
	b = strconv.AppendInt(append(b, `,"revisions":`...), int64(revisions), 10)
	b = append(append(b, `,"inclusion":`...), inclusion...)
	b = proof.AppendJSON(append(b, `,"data":`...), record)
	response := slot.Expires(web.Once(append(b, '}'), record.PublishedAt))
	if string(inclusion) == "null" { // it is signed in a moment
		response = response.ShortLived()
	}
	return response, nil
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
