package console

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/web"
)

// determinationTimeout is how long the database may take to find a slot's records.
const determinationTimeout = 5 * time.Second

// determination serves the record of how one value was determined. Records are many and rarely requested, so they stay
// in the database.
func (c *Console) determination(r *web.Request) (web.Response, error) {
	slot, err := c.API.Slot(r)
	if err != nil {
		return web.Response{}, err
	}
	var records []assay.Determination
	if slot.Exists {
		if records, err = c.readDeterminations(r, &slot); err != nil {
			return web.Response{}, err
		}
	}
	record, revisions, err := slot.Pick(records)
	if err != nil {
		return web.Response{}, err
	}
	b := assay.AppendString(append(make([]byte, 0, 1024), `{"success":true,"access":`...), string(slot.Access))
	b = assay.AppendString(append(b, `,"granularity":`...), record.Grain.String())
	b = strconv.AppendInt(append(b, `,"revisions":`...), int64(revisions), 10)
	b = proof.AppendJSON(append(b, `,"data":`...), record)
	return slot.Expires(web.Ready(web.NewBody(append(b, '}'), record.PublishedAt))), nil
}

// readDeterminations reads the records of a slot, oldest first.
func (c *Console) readDeterminations(r *web.Request, slot *api.Slot) ([]assay.Determination, error) {
	ctx, cancel := context.WithTimeout(r.Context(), determinationTimeout)
	defer cancel()
	records, err := c.Determinations(ctx, slot.Line, slot.Grain, slot.At)
	if err != nil {
		r.LogCause(fmt.Errorf("read the determinations of %s in %s at %s: %w",
			slot.Line.GPU, slot.Line.Region, assay.FormatInstant(slot.At), err))
		return nil, &assay.Error{
			Kind: assay.Unavailable, Code: "unavailable", Message: "The record cannot be read at the moment. Try again later.",
		}
	}
	return records, nil
}
