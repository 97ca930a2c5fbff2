package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
)

// correctionsAsk is which corrections are asked for; what is empty filters nothing.
type correctionsAsk struct {
	since                    snapshot.Position
	limit                    int
	gpu, region, granularity string
}

// corrections answers the values that restatements made or took back, in the order in which that happened.
func corrections(c *call) (answer, error) {
	ask, err := c.correctionsAsk()
	if err != nil {
		return answer{}, err
	}
	grant, err := c.decide(access.Ask{})
	if err != nil {
		return answer{}, err
	}
	if ask.region != "" && !c.snap.Catalog.HasRegion(ask.region) {
		return answer{}, noPrice("unknown_region", "any GPU", ask.region)
	}
	if grant.Access != assay.AccessFull {
		ask.granularity = assay.Daily.String()
	}
	rows, next, more := ask.pick(c.snap)
	head := assay.AppendString(append(make([]byte, 0, 256), `{"success":true,"access":`...), string(grant.Access))
	head = appendIntField(head, `,"count":`, len(rows))
	head = strconv.AppendBool(append(head, `,"has_more":`...), more)
	head = assay.AppendString(append(head, `,"next":`...), cursor(next))
	a := answer{head: append(head, `,"data":[`...), count: len(rows), brief: true}
	a.tag = hash([]byte("corrections"), head, []byte(ask.gpu), []byte(ask.region), []byte(ask.granularity))
	a.row = func(dst []byte, k int) []byte { return appendCorrection(dst, rows[k]) }
	if newest, ok := c.snap.Publication(); ok {
		a.modified = newest.PublishedAt
	}
	return a, nil
}

func (c *call) correctionsAsk() (ask correctionsAsk, err error) {
	since, err := c.param("since")
	if err != nil {
		return ask, err
	}
	if since != "" {
		var ok bool
		if ask.since, ok = parseCursor(since); !ok {
			return ask, invalid("since", since, "what an earlier answer gave as next")
		}
	}
	if ask.limit, err = c.whole("limit", 1000, 1, 10_000); err != nil {
		return ask, err
	}
	if ask.gpu, err = c.param("gpuType"); err != nil {
		return ask, err
	}
	if ask.gpu != "" {
		if _, err := c.gpu(ask.gpu); err != nil {
			return ask, err
		}
	}
	if ask.region, err = c.param("region"); err != nil {
		return ask, err
	}
	ask.granularity, err = c.oneOf("granularity", "", "daily", "hourly")
	return ask, err
}

// pick gives the corrections asked for, whether there are more of them, and how far a reader of these has come: to the
// last of them or, when there are no more, to the last of all.
func (ask *correctionsAsk) pick(snap *snapshot.Snapshot) (rows []*snapshot.Correction, next snapshot.Position, more bool) {
	next = ask.since
	after := snap.CorrectionsAfter(ask.since)
	for i := range after {
		if !ask.wants(&after[i]) {
			continue
		}
		if len(rows) == ask.limit {
			return rows, rows[len(rows)-1].Position(), true
		}
		rows = append(rows, &after[i])
	}
	if len(after) > 0 {
		next = after[len(after)-1].Position()
	}
	return rows, next, false
}

func (ask *correctionsAsk) wants(c *snapshot.Correction) bool {
	return (ask.gpu == "" || ask.gpu == c.GPU) && (ask.region == "" || ask.region == c.Region) &&
		(ask.granularity == "" || ask.granularity == c.Grain.String())
}

func appendCorrection(dst []byte, c *snapshot.Correction) []byte {
	dst = assay.AppendString(append(dst, `{"gpu_type":`...), c.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), c.Region)
	dst = assay.AppendString(append(dst, `,"granularity":`...), c.Grain.String())
	dst = appendInstantField(dst, `,"timestamp":`, c.Revision.At)
	dst = appendIntField(dst, `,"revision":`, c.Revision.Number)
	dst = appendPriceField(dst, `,"index_value":`, c.Revision.Value, !c.Revision.Gone)
	dst = appendPriceField(dst, `,"previous_value":`, c.Previous, c.HadValue)
	dst = appendInstantField(dst, `,"corrected_at":`, c.CorrectedAt)
	return append(assay.AppendString(append(dst, `,"reason":`...), c.Reason), '}')
}

// cursor writes a position as callers are given it: opaque, and with a checksum, so that nobody makes up their own. It
// says nothing of this node's memory, so it holds on every node and after every start.
func cursor(p snapshot.Position) string {
	fields := []string{strconv.FormatInt(p.Version, 36), p.Grain.String(), strconv.FormatInt(p.At, 36), p.Region, p.GPU}
	text := []byte(strings.Join(fields, "\x00"))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, checksum(text)))
}

func checksum(text []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(text) // a hash takes everything
	return h.Sum32()
}

// parseCursor reads a position back; ok is false for what cursor has not written.
func parseCursor(s string) (p snapshot.Position, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(text) < 4 {
		return p, false
	}
	fields := strings.SplitN(string(text[:len(text)-4]), "\x00", 5)
	if len(fields) != 5 {
		return p, false
	}
	var errs [3]error
	p.Version, errs[0] = strconv.ParseInt(fields[0], 36, 64)
	p.Grain, errs[1] = assay.ParseGrain(fields[1])
	p.At, errs[2] = strconv.ParseInt(fields[2], 36, 64)
	p.Region, p.GPU = fields[3], fields[4]
	return p, errs == [3]error{} && cursor(p) == s
}
