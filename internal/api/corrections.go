package api

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// correctionsAsk is which corrections are requested; an empty field filters nothing.
type correctionsAsk struct {
	since                    bookmark
	limit                    int
	gpu, region, granularity string
}

// corrections serves the values that restatements published or withdrew, in the order in which that happened.
func corrections(q query) (web.Response, error) {
	ask, err := q.correctionsAsk()
	if err != nil {
		return web.Response{}, err
	}
	grant, err := q.decide(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	if ask.region != "" && !q.snap.Catalog.HasRegion(ask.region) {
		return web.Response{}, noPrice("unknown_region", "any GPU", ask.region)
	}
	if grant.Access != assay.AccessFull {
		ask.granularity = assay.Daily.String()
	}
	if err := q.checkHistory(ask.since); err != nil {
		return web.Response{}, err
	}
	rows, next, more := ask.pick(q.snap)
	head := appendStringField(make([]byte, 0, 256), `{"success":true,"access":`, string(grant.Access))
	head = appendIntField(head, `,"count":`, len(rows))
	head = appendBoolField(head, `,"has_more":`, more)
	head = appendStringField(head, `,"next":`, next.cursor())
	if more {
		q.LinkNext([]web.Change{{Param: "since", Value: next.cursor()}})
	}
	version := web.NewVersion(0, []byte("corrections"), head, []byte(ask.gpu), []byte(ask.region), []byte(ask.granularity))
	if newest, ok := q.snap.Publication(); ok {
		version.Modified = newest.PublishedAt
	}
	return web.Rows(version, append(head, `,"data":[`...), len(rows), func(dst []byte, k int) []byte {
		return appendCorrection(dst, rows[k])
	}).ShortLived(), nil
}

func (q *query) correctionsAsk() (ask correctionsAsk, err error) {
	since, err := q.Param("since")
	if err != nil {
		return ask, err
	}
	if since != "" {
		var ok bool
		if ask.since, ok = parseCursor(since); !ok {
			return ask, web.Invalid("since", since, "the value of next in an earlier response")
		}
	}
	if ask.limit, err = q.Int("limit", 1000, 1, 10_000); err != nil {
		return ask, err
	}
	if ask.gpu, err = q.Param("gpuType"); err != nil {
		return ask, err
	}
	if ask.gpu != "" {
		if _, err := q.gpu("gpuType", ask.gpu); err != nil {
			return ask, err
		}
	}
	if ask.region, err = q.Param("region"); err != nil {
		return ask, err
	}
	ask.granularity, err = q.OneOf("granularity", "", "daily", "hourly")
	return ask, err
}

// settled is how long after a correction a node whose data is current must have it. Replicas of the database lag less.
const settled = assay.Minute

// checkHistory refuses a cursor of another history: the database was restored, or replaced by a copy that has gone
// another way. A reader that continued from there would miss corrections. A node that may only lag behind is no reason.
func (q *query) checkHistory(since bookmark) error {
	if since.history == 0 {
		return nil // the beginning, or a cursor of a release before 0.6.0
	}
	history, known := q.snap.HistoryAt(since.Version)
	if known && history == since.history {
		return nil
	}
	current := q.Milli() - q.api.Status.DataAge().Milliseconds()
	if !known && current < since.correctedAt+settled {
		return nil
	}
	return &assay.Error{
		Kind: assay.Conflict, Code: "history_changed",
		Message: "The cursor in \"since\" is from another history of this index: " +
			"its database was restored or replaced. Copy the series again, and read corrections without since.",
	}
}

// pick returns the requested corrections, whether there are more of them, and where the next page begins: after the
// last of them or, when there are no more, after the last of all.
func (ask *correctionsAsk) pick(snap *snapshot.Snapshot) (rows []*snapshot.Correction, next bookmark, more bool) {
	next = ask.since
	after := snap.CorrectionsAfter(ask.since.Position)
	for i := range after {
		if !ask.wants(&after[i]) {
			continue
		}
		if len(rows) == ask.limit {
			return rows, bookmarkAfter(rows[len(rows)-1], snap), true
		}
		rows = append(rows, &after[i])
	}
	if len(after) > 0 {
		next = bookmarkAfter(&after[len(after)-1], snap)
	}
	return rows, next, false
}

func (ask *correctionsAsk) wants(c *snapshot.Correction) bool {
	return (ask.gpu == "" || ask.gpu == c.GPU) && (ask.region == "" || ask.region == c.Region) &&
		(ask.granularity == "" || ask.granularity == c.Grain.String())
}

func appendCorrection(dst []byte, c *snapshot.Correction) []byte {
	dst = appendStringField(dst, `{"gpu_type":`, c.GPU)
	dst = appendStringField(dst, `,"region":`, c.Region)
	dst = appendStringField(dst, `,"granularity":`, c.Grain.String())
	dst = appendInstantField(dst, `,"timestamp":`, c.Revision.At)
	dst = appendIntField(dst, `,"revision":`, c.Revision.Number)
	dst = appendPriceField(dst, `,"index_value":`, c.Revision.Value, !c.Revision.Gone)
	dst = appendPriceField(dst, `,"previous_value":`, c.Previous, c.HadValue)
	dst = appendInstantField(dst, `,"corrected_at":`, c.CorrectedAt)
	return append(appendStringField(dst, `,"reason":`, c.Reason), '}')
}

// bookmark is where a reader has stopped. The zero value is the beginning.
type bookmark struct {
	snapshot.Position

	history     uint64 // of the publications up to there; 0 at the beginning, and in cursors of releases before 0.6.0
	correctedAt int64  // of the last correction
}

func bookmarkAfter(c *snapshot.Correction, snap *snapshot.Snapshot) bookmark {
	history, _ := snap.HistoryAt(c.Revision.Version)
	return bookmark{Position: c.Position(), history: history, correctedAt: c.CorrectedAt}
}

// cursor writes a bookmark as callers see it: opaque, and with a checksum, so that clients do not make up their own. It
// does not depend on this node's memory, so it is valid on every node and after every start.
func (b bookmark) cursor() string {
	fields := []string{strconv.FormatInt(b.Version, 36), b.Grain.String(), strconv.FormatInt(b.At, 36), b.Region, b.GPU}
	if b.history != 0 {
		fields = append(fields, strconv.FormatUint(b.history, 36), strconv.FormatInt(b.correctedAt, 36))
	}
	text := []byte(strings.Join(fields, "\x00"))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, checksum(text)))
}

func checksum(text []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(text) // a hash takes everything
	return h.Sum32()
}

// parseCursor reads a bookmark back; ok is false for a text that cursor did not write.
func parseCursor(s string) (b bookmark, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(text) < 4 {
		return b, false
	}
	fields := strings.Split(string(text[:len(text)-4]), "\x00")
	if len(fields) != 5 && len(fields) != 7 {
		return b, false
	}
	var errs [5]error
	b.Version, errs[0] = strconv.ParseInt(fields[0], 36, 64)
	b.Grain, errs[1] = assay.ParseGrain(fields[1])
	b.At, errs[2] = strconv.ParseInt(fields[2], 36, 64)
	b.Region, b.GPU = fields[3], fields[4]
	if len(fields) == 7 {
		b.history, errs[3] = strconv.ParseUint(fields[5], 36, 64)
		b.correctedAt, errs[4] = strconv.ParseInt(fields[6], 36, 64)
	}
	return b, errs == [5]error{} && b.cursor() == s
}
